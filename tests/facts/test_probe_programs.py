"""Programs on a launch's PATH: their versions, those behind the first, what lies beside them."""

import time
from contextlib import closing
from pathlib import Path

import pytest
from support.probing import NONCE, Shell

from fleet.connectors.image_rootfs import RootTree
from fleet.errors import UsageError
from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.request import CommandQuestion, LaunchQuestion, Read, Request
from fleet.facts.running import CommandFact
from fleet.facts.tree import TreeReader

SCHEMA = "schemas/settings.schema.json"
PI = CommandQuestion("pi", Read.HASH, manifest=True, every=True, beside=(SCHEMA, "schemas/none"))


def program(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def asked(shell: Shell, home: Path, *questions: CommandQuestion, seconds: int = 10) -> Facts:
    """Ask for programs in the folders ``bin``, ``more`` and ``last`` of a home."""
    (home / ".bash_profile").write_text("export PATH=~/bin:~/more:~/bin/:~/last:/usr/bin:/bin\n")
    launch = LaunchQuestion("bash -lc", commands=questions)
    return shell.facts(Request(NONCE, launches=(launch,), seconds=seconds), home=home)


def two_pis(home: Path) -> None:
    for name, folder in (("new", "bin"), ("old", "last")):
        package = home / f"lib/{name}"
        program(package / "dist/cli.js", f"#!/usr/bin/env node\n// {name}\n")
        (package / "package.json").write_text(f'{{"name": "{name}"}}\n')
        (home / folder).mkdir()
        (home / folder / "pi").symlink_to(package / "dist/cli.js")
    (home / "lib/new/schemas").mkdir()
    (home / "lib/new" / SCHEMA).write_text('{"type": "object"}\n')


def check(found: CommandFact, facts: Facts, home: Path) -> None:
    assert facts.content(found.manifest) == b'{"name": "new"}\n'
    assert facts.content(found.beside[SCHEMA]) == b'{"type": "object"}\n'
    assert found.beside["schemas/none"].state == "absent"
    told = [(one.file.path, facts.content(one.manifest)) for one in found.others or () if one.file]
    assert (f"{home}/last/pi", b'{"name": "old"}\n') in told
    assert {path for path, _ in told} <= {f"{home}/bin/pi", f"{home}/bin//pi", f"{home}/last/pi"}


def test_every_program_of_a_name_and_what_lies_beside_the_first(
    shell: Shell, tmp_path: Path
) -> None:
    two_pis(tmp_path)
    facts = asked(shell, tmp_path, PI, CommandQuestion("nonesuch", every=True))
    commands = facts.launches["bash -lc"].commands
    check(commands["pi"], facts, tmp_path)
    assert commands["pi"].version is None
    assert (commands["nonesuch"].file, commands["nonesuch"].others) == (None, ())


def test_a_tree_tells_the_same(tmp_path: Path) -> None:
    two_pis(tmp_path)
    with closing(RootTree(Path("/"), "rootfs")) as tree:
        reader = TreeReader(tree, NONCE, str(tmp_path))
        search = f"{tmp_path}/bin:{tmp_path}/more:{tmp_path}/last"
        found = reader.commands([PI], search=search, uid=0, folder="/")["pi"]
        assert [one.file and one.file.path for one in found.others or ()] == [f"{tmp_path}/last/pi"]
        assert found.beside[SCHEMA].sha256 in reader.contents
        assert found.beside["schemas/none"].state == "absent"
        first = CommandQuestion("pi")
        assert reader.commands([first], search=search, uid=0, folder="/")["pi"].others is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[ "$1" = --version ] && echo v22.19.0', "v22.19.0"),
        ('printf "tmux 3.3a\\nand more\\n"', "tmux 3.3a and more"),
        ("echo v1 >&2; exit 1", ""),
        ("yes | head -c 100000 | tr -d '\\n'", ""),
        ("yes", "y y y y"),
        ("read x || echo no-input", "no-input"),
    ],
)
def test_a_version_is_what_the_program_prints(
    shell: Shell, tmp_path: Path, text: str, told: str
) -> None:
    program(tmp_path / "bin/node", f"#!/bin/sh\n{text}\n")
    facts = asked(shell, tmp_path, CommandQuestion("node", version="--version"))
    assert facts.launches["bash -lc"].commands["node"].version == told


def test_a_version_is_asked_on_the_path_of_the_launch(shell: Shell, tmp_path: Path) -> None:
    program(tmp_path / "bin/node", "#!/bin/sh\nexec real-node\n")
    program(tmp_path / "last/real-node", "#!/bin/sh\necho v20.1.0\n")
    facts = asked(shell, tmp_path, CommandQuestion("node", version="--version"))
    assert facts.launches["bash -lc"].commands["node"].version == "v20.1.0"


def test_a_program_that_hangs_holds_nobody(shell: Shell, tmp_path: Path) -> None:
    program(tmp_path / "bin/node", "#!/bin/sh\nexec sleep 60\n")
    started = time.monotonic()
    facts = asked(shell, tmp_path, CommandQuestion("node", version="--version"), seconds=1)
    launch = facts.launches["bash -lc"]
    assert (launch.state, launch.commands["node"].version) == ("ok", "")
    assert time.monotonic() - started < 15


def test_each_program_tells_its_own_version(shell: Shell, tmp_path: Path) -> None:
    program(tmp_path / "bin/node", "#!/bin/sh\necho v22.19.0\n")
    program(tmp_path / "last/node", "#!/bin/sh\necho v18.0.0\n")
    program(tmp_path / "last/tmux", '#!/bin/sh\n[ "$1" = -V ] && echo tmux 3.3a\n')
    wanted = (CommandQuestion("node", version="--version"), CommandQuestion("tmux", version="-V"))
    commands = asked(shell, tmp_path, *wanted, CommandQuestion("uv")).launches["bash -lc"].commands
    versions = {name: command.version for name, command in commands.items()}
    assert versions == {"node": "v22.19.0", "tmux": "tmux 3.3a", "uv": None}


def test_what_was_not_asked_is_not_run(shell: Shell, tmp_path: Path) -> None:
    program(tmp_path / "bin/node", f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    facts = asked(shell, tmp_path, CommandQuestion("node", manifest=True, every=True))
    assert facts.launches["bash -lc"].commands["node"].version is None
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "a/../../b"])
def test_what_lies_beside_a_manifest_lies_below_it(path: str) -> None:
    question = CommandQuestion("pi", manifest=True, beside=(path,))
    with pytest.raises(UsageError, match="below"):
        probe_script(Request(NONCE, launches=(LaunchQuestion("sh -c", commands=(question,)),)))
