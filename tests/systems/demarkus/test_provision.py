"""What is brought for both packages, and what a root file system of an image tells of them."""

import json
from pathlib import Path

from click.testing import CliRunner
from support.demarkus import KNOWLEDGE, write_package

from fleet.cli.main import cli

URL = "https://broker.example.net/mcp"


def fleet(folder: Path, target: dict[str, object], *words: str) -> tuple[int, str]:
    inventory = folder / "fleet.yml"
    inventory.write_text(json.dumps(target))
    result = CliRunner().invoke(cli, [*words, "-i", str(inventory)])
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_both_servers_go_into_one_file_and_leave_it_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_package(home / "src/memory")
    write_package(home / "src/knowledge", KNOWLEDGE)
    mcp = home / ".config/mcp/mcp.json"
    mcp.parent.mkdir(parents=True)
    mcp.write_text('{"mcpServers": {"mine": {"command": "mine"}}}\n')
    said = {
        "demarkus_memory": "~/src/memory",
        "demarkus_knowledge": "~/src/knowledge",
        "demarkus_broker": "team",
        "demarkus_broker_url": URL,
    }
    host = {"local": str(home), "shell": "sh -lc", "systems": ["demarkus"], "vars": said}
    target: dict[str, object] = {"hosts": {"here": host}}
    fleet(tmp_path, target, "provision", "--yes")
    assert json.loads(mcp.read_text())["mcpServers"] == {
        "mine": {"command": "mine"},
        "demarkus-memory": {
            "command": f"{home}/.demarkus/bin/demarkus-plugin",
            "args": ["mcp-serve"],
        },
        "team": {"url": URL, "auth": "oauth"},
    }
    agent = home / ".pi/agent"
    assert (agent / "extensions/demarkus-pi-knowledge/package.json").exists()
    assert (agent / "skills/knowledge-promote/SKILL.md").exists()
    assert fleet(tmp_path, target, "plan")[0] == 0
    assert fleet(tmp_path, target, "uninstall", "--yes")[0] == 0
    assert mcp.read_text() == '{"mcpServers": {"mine": {"command": "mine"}}}\n'
    assert not (agent / "extensions").exists()


def test_an_image_tells_of_its_files_and_nothing_of_state(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    folder = root / "root/.pi/agent/npm/node_modules/demarkus-pi-memory"
    write_package(folder)
    settings = json.dumps({"packages": ["npm:demarkus-pi-memory"]})
    (root / "root/.pi/agent/settings.json").write_text(settings)
    variables = {"demarkus_memory": "npm:demarkus-pi-memory"}
    image = {"image": f"rootfs:{root}", "systems": ["demarkus"], "vars": variables}
    _code, output = fleet(tmp_path, {"images": {"box": image}}, "audit", "--format", "json")
    found = {f["gate"]: f["verdict"] for f in json.loads(output)["findings"]}
    assert found["demarkus.manifest"] == found["demarkus.placed"] == "pass"
    assert found["demarkus.proxy"] == "pass"
    assert (found["demarkus.program"], found["demarkus.host"]) == ("fail", "not-checked")
    assert found["demarkus.state"] == found["demarkus.shared"] == "not-applicable"
