"""The tools, as they are run on the hosts of a rig, and how to read what they saw."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.hosts.faults import releases
from benchmarks.hosts.installed import programs
from benchmarks.hosts.rig import Host, Rig
from benchmarks.hosts.state import VARIABLES, environment, write_inventory
from benchmarks.hosts.truths import MARKERS, Seen, seen_by_fleet, seen_in_lines

PEERS = Path(__file__).with_name("peers")
FLEET = str(Path(sys.executable).with_name("fleet"))
FLOOR = str(Path(__file__).with_name("floor.py"))
#: As many at once as `fleet` asks by default; what its rows and the floor are run with.
JOBS = 16
#: The tool that takes minutes is not asked of more hosts than this. A hundred took it nine and a
#: half, and told the same: docs/benchmarks.md.
FEW = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """One way to run the checks.

    Attributes:
        title: as the table calls it.
        words: the command for some hosts, whose files may be written to a folder.
        seen: reads the output and what lies in the folder; None for a row without truths.
        wrong: tells what is not as it should be after a run, a line each.
        codes: exit codes of a run that did its work.
        most: the most hosts it is asked to look at.
        seconds: after which it is ended.
        runs: how often at most; 0 as often as wanted.
    """

    name: str
    title: str
    words: Callable[[Rig, Sequence[Host], Path], list[str]]
    seen: Callable[[bytes, Path], Seen] | None = None
    codes: frozenset[int] = frozenset({0})
    most: int = 10_000
    seconds: float = 300
    runs: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)
    wrong: Callable[[Rig, Sequence[Host], bytes], list[str]] | None = None

    def environment(self, rig: Rig) -> dict[str, str]:
        """Return the environment that it runs in."""
        return {**environment(rig.config), **self.environ}


def addressed(seen: Seen, hosts: Sequence[Host]) -> Seen:
    """Name by their names hosts that a tool names by their addresses."""
    names = {host.address: host.name for host in hosts}
    return {names.get(name, name): checks for name, checks in seen.items()}


def floor() -> Tool:
    """Return the floor."""

    def words(rig: Rig, hosts: Sequence[Host], _: Path) -> list[str]:
        files = [str(rig.key), str(rig.known_hosts), str(JOBS)]
        return [sys.executable, FLOOR, *files, *(host.address for host in hosts)]

    return Tool("floor", "connect, log in, run `true`", words)


def fleet(name: str = "fleet", *more: str, command: str = "audit", title: str = "") -> Tool:
    """Return `fleet audit`, or another command of its own."""
    inventory = f"{name}.yml"

    def words(_: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        file = write_inventory(folder / inventory, [(h.name, h.address) for h in hosts])
        return [FLEET, command, "-i", str(file), "--format", "json", "-j", str(JOBS), *more]

    return Tool(
        name,
        title or f"fleet {command}",
        words,
        (lambda output, _: seen_by_fleet(output)) if command == "audit" else None,
        frozenset({0, 2}),
    )


def pyinfra(venvs: Path) -> Tool:
    """Return pyinfra, by facts of its own."""
    program = programs(venvs, "pyinfra") / "pyinfra"

    def words(rig: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        inventory = write_pyinfra_inventory(rig, hosts, folder)
        script = str(PEERS / "pyinfra_audit.py")
        return [str(program), "-y", "--parallel", "50", str(inventory), script]

    return Tool(
        "pyinfra",
        "pyinfra, facts",
        words,
        lambda output, _: seen_in_lines(output),
        environ=_told(),
    )


def write_pyinfra_inventory(rig: Rig, hosts: Sequence[Host], folder: Path) -> Path:
    """Write an inventory of hosts in pyinfra's form."""
    data = {
        "ssh_user": "root",
        "ssh_key": str(rig.key),
        "ssh_known_hosts_file": str(rig.known_hosts),
        "ssh_config_file": "/dev/null",
    }
    file = folder / "hosts.py"
    file.write_text(f"hosts = {[(h.address, data) for h in hosts]!r}\n")
    return file


def ansible(venvs: Path, *, single: bool) -> Tool:
    """Return Ansible: one shell task for everything, or one task a check as people write it."""
    program = programs(venvs, "ansible") / "ansible-playbook"
    playbook = "ansible_task.yml" if single else "ansible_audit.yml"

    def words(rig: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        (folder / "ansible.ini").write_text("".join(f"{h.address}\n" for h in hosts))
        (folder / "ansible.cfg").write_text(_ansible_settings(rig))
        given = ["-i", str(folder / "ansible.ini"), "-e", work()]
        return [str(program), *given, str(PEERS / playbook)]

    return Tool(
        "ansible-task" if single else "ansible",
        "Ansible, one shell task" if single else "Ansible, a task a check",
        words,
        lambda output, _: seen_in_lines(output),
        most=10_000 if single else FEW,
        seconds=300 if single else 900,
        runs=0 if single else 1,
        environ={
            **_told(),
            "ANSIBLE_CONFIG": "ansible.cfg",
            "PATH": f"{program.parent}:{os.defpath}",
        },
    )


def _ansible_settings(rig: Rig) -> str:
    """Return settings as quick as they can be; the key exchange is the one that `fleet` uses."""
    ssh = (
        f"-F {rig.config} -o ControlMaster=auto -o ControlPersist=60s -o LogLevel=ERROR"
        " -o GSSAPIAuthentication=no -o KexAlgorithms=curve25519-sha256"
    )
    return (
        "[defaults]\nforks=50\ngathering=explicit\ninterpreter_python=/usr/bin/python3\n"
        f"remote_user=root\nprivate_key_file={rig.key}\nstdout_callback=ansible.builtin.minimal\n"
        f"retry_files_enabled=False\nhome={rig.folder}/ansible\n"
        f"[ssh_connection]\npipelining=True\nssh_args={ssh}\n"
        f"control_path_dir={rig.folder}/cm\n"
    )


def testinfra(venvs: Path) -> Tool:
    """Return testinfra, by its paramiko backend and eight processes."""
    program = programs(venvs, "testinfra") / "pytest"

    def words(rig: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        named = ",".join(f"paramiko://root@{h.address}" for h in hosts)
        plain = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder)]
        ssh = ["--ssh-config", str(rig.config), "--ssh-identity-file", str(rig.key)]
        report = ["--junit-xml", str(folder / "testinfra.xml"), "-n", "8", "--dist", "worksteal"]
        script = str(PEERS / "testinfra_audit.py")
        return [str(program), *plain, *ssh, *report, f"--hosts={named}", script]

    return Tool(
        "testinfra",
        "testinfra, paramiko, 8 processes",
        words,
        lambda _, folder: seen_in_junit((folder / "testinfra.xml").read_bytes()),
        frozenset({0, 1}),
        environ={**_told(), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def seen_in_junit(report: bytes) -> Seen:
    """Read a report of testinfra: a test for each check, which names the host in brackets."""
    seen: dict[str, dict[str, bool | str]] = {}
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 - ours
        name, _, rest = case.get("name", "").partition("[")
        words = rest.rstrip("]").rpartition("/")[2].split("-", 1)
        check = words[1] if len(words) > 1 else name.removeprefix("test_").replace("_", "-")
        broken = case.find("error") is not None or case.find("skipped") is not None
        if not broken:
            seen.setdefault(words[0], {})[check] = case.find("failure") is None
    return seen


def work() -> str:
    """Return what the peers' scripts are told, in JSON: texts, values, digests of whole bridges."""
    bridges = [hashlib.sha256(content).hexdigest() for content in releases()]
    return json.dumps({"markers": MARKERS, "variables": VARIABLES, "bridges": bridges})


def _told() -> dict[str, str]:
    """Return the environment that the peers' scripts find each other and their work in."""
    return {"BENCH_WORK": work(), "PYTHONPATH": str(PEERS)}
