"""The documentation is true: made pages are fresh, links lead somewhere, and what it shows runs."""

import importlib.util
import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import jsonschema
import pytest
from support import documents
from support.documents import Block, Page
from support.places import ROOT

from fleet.cli.main import cli
from fleet.cli.wanted import WantedType
from fleet.inventory.known import Known
from fleet.inventory.load import load_inventory
from fleet.inventory.playbook import read_playbook
from fleet.inventory.schema import InventoryPart
from fleet.inventory.yaml import load as load_yaml
from fleet.systems.catalogue import load_catalogue
from fleet.systems.model import System

PAGES = documents.pages()
ADDED = "csv"  # the format that docs/how-to/add-a-report.md adds, and runs
# YAML in the pages that is neither an inventory, a playbook nor a system, or no whole one.
FRAGMENTS = {
    ("docs/how-to/add-a-connector.md", "systems: [env]"),  # a way it adds; the page is run
    ("docs/how-to/add-a-system.md", "vars: {notes_style"),  # of a system it adds; the page is run
    ("docs/tutorials/provision.md", "waivers:"),  # of the inventory beside it; the page is run
    ("docs/inventory.md", "palace_token: !secret env:PALACE_TOKEN"),
    ("docs/inventory.md", "# yaml-language-server:"),
}


def docs_script() -> tuple[Callable[[Path], dict[str, str]], Callable[[list[str]], int]]:
    """Load scripts/docs.py: what makes the pages, and its way in."""
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages, module.main


MADE, MAIN = docs_script()


def named(pages: list[Page]) -> list[object]:
    return [pytest.param(page, id=page.name) for page in pages]


def blocks(*languages: str) -> Iterator[object]:
    for page in PAGES:
        for block in page.blocks:
            if block.language in languages:
                yield pytest.param(page, block, id=f"{page.name}:{block.line}")


# --- what is made from the code


def test_the_made_pages_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert MAIN(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_page_is_named_and_written_afresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ROOT / "docs" / "inventory.md"
    (tmp_path / "inventory.md").write_text(kept.read_text("utf-8"), encoding="utf-8")
    assert MAIN([str(tmp_path)]) == 0
    assert MAIN([str(tmp_path), "--check"]) == 0
    (tmp_path / "gates.md").write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert MAIN([str(tmp_path), "--check"]) == 1
    told = capsys.readouterr().err
    assert "gates.md is stale" in told
    assert "commands.md" not in told
    assert (tmp_path / "gates.md").read_text("utf-8") == "old"


def test_every_gate_tells_what_decides_it() -> None:
    text = MADE(ROOT / "docs")["gates.md"]
    for system, gate in load_catalogue().gates():
        told = text.partition(f"\n#### {gate.id}\n")[2].partition("\n#### ")[0]
        assert "- **decided by:** " in told, gate.id
        assert gate.asks in " ".join(told.split()), (system.system, gate.id)


def test_the_kept_schemas_accept_what_fleet_writes(tmp_path: Path) -> None:
    def kept(name: str) -> dict[str, object]:
        schema: dict[str, object] = json.loads((ROOT / "docs/schema" / name).read_text("utf-8"))
        return schema

    for name in ("inventory.json", "run.json", "facts.json"):
        jsonschema.Draft202012Validator.check_schema(kept(name))
    home, folder = documents.furnished(tmp_path / "home"), tmp_path / "facts"
    (tmp_path / "fleet.yml").write_text(
        f"systems: [mempalace-bridge]\nhosts: {{here: {{local: {home}}}}}\n", encoding="utf-8"
    )
    audit = f"fleet audit -i {tmp_path}/fleet.yml --format json"
    run = json.loads(documents.ran(audit, tmp_path, home, exits=2))
    jsonschema.validate(run, kept("run.json"))
    documents.ran(f"fleet facts -i {tmp_path}/fleet.yml -o {folder}", tmp_path, home)
    facts = json.loads((folder / "here.facts.json").read_text("utf-8"))
    jsonschema.validate(facts, kept("facts.json"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(run, kept("facts.json"))


def test_the_recorded_picture_says_what_the_recorded_text_says() -> None:
    plain = (ROOT / "docs/report.txt").read_text("utf-8").splitlines()
    drawn: dict[float, str] = {}
    for node in ET.parse(ROOT / "docs/report.svg").iter():  # noqa: S314 - our own file
        if (
            node.tag.endswith("}text")
            and "y" in node.attrib
            and "title" not in node.get("class", "")
        ):
            y = float(node.attrib["y"])
            drawn[y] = drawn.get(y, "") + (node.text or "")
    pictured = ["".join(drawn[y].split()) for y in sorted(drawn)]
    assert list(filter(None, pictured)) == ["".join(line.split()) for line in plain if line.strip()]
    told = set(
        re.findall(r"^\S+   ([a-z]+\.[a-z-]+)   (?:FAIL|WARN)", "\n".join(plain), re.MULTILINE)
    )
    assert told
    assert told <= {gate.id for _, gate in load_catalogue().gates()}


# --- links


@pytest.mark.parametrize("page", named(PAGES))
def test_every_relative_link_leads_somewhere(page: Page) -> None:
    for link in page.links:
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.exists(), f"{page.name}: {link}"
        assert target.is_relative_to(ROOT), f"{page.name}: {link} leaves the repository"
        if anchor:
            assert anchor in Page(target).anchors, f"{page.name}: {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    found, waiting = {ROOT / "README.md"}, [ROOT / "README.md"]
    while waiting:
        page = Page(waiting.pop())
        linked = {(page.path.parent / link.partition("#")[0]).resolve() for link in page.links}
        fresh = {path for path in linked if path.suffix == ".md"} - found
        found |= fresh
        waiting += fresh
    assert {page.path for page in PAGES} <= found


# --- commands


@dataclass(frozen=True)
class Shown:
    """A command as a page shows it."""

    page: str
    words: tuple[str, ...]


def shown() -> list[object]:
    found = dict.fromkeys(Shown(p.name, tuple(w)) for p in PAGES for w in p.commands())
    return [pytest.param(one, id=f"{one.page}: {' '.join(one.words)[:60]}") for one in found]


def resolved(words: tuple[str, ...]) -> tuple[click.Command, dict[str, object], list[str]]:
    """Read a command line as fleet would, running nothing.

    Raises:
        click.UsageError: there is no such command or option, or a value is missing.
    """
    command: click.Command = cli
    context, rest = click.Context(cli, info_name="fleet"), list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"no such command: {rest[0]}")
        command, context = found, click.Context(found, info_name=rest.pop(0), parent=context)
    if not rest:  # a mention of the command
        return command, {}, []
    options, left, _ = command.make_parser(context).parse_args(rest)
    for parameter in command.get_params(context):
        value = options.get(str(parameter.name))
        if parameter.required and not (isinstance(value, str | list | tuple) and value):
            raise click.MissingParameter(ctx=context, param=parameter)
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)
        if isinstance(parameter.type, WantedType):
            for one in value if isinstance(value, list) else ():
                form = str(one).partition(":")[0]
                if form != ADDED:
                    parameter.type.convert(form, parameter, context)
    return command, options, left


@pytest.mark.parametrize("one", shown())
def test_every_command_shown_is_one_that_fleet_takes(one: Shown) -> None:
    command, options, left = resolved(one.words)
    assert not left, f"too much: {left}"
    catalogue = load_catalogue()
    known = {
        "systems": {*catalogue.systems, "note-keeper"},
        "require": {*catalogue.capabilities(), "mine"},
        "gate": {g.id for _, g in catalogue.gates()} | {"GATE", "bridge.mine"},
    }
    for name, names in known.items():
        given = options.get(name) or []
        for text in [given] if isinstance(given, str) else list(given):  # type: ignore[call-overload]  # click says object
            assert set(str(text).split(",")) <= names | {"SYSTEM", "CAPABILITY"}, command.name


@pytest.mark.parametrize(
    "line",
    [
        "fleet adit",
        "fleet audit --colour",
        "fleet check --strict",
        "fleet audit --format yaml",
        "fleet explain --format json",
        "fleet inventory check --limit laptop",
    ],
)
def test_a_wrong_command_would_be_seen(line: str) -> None:
    with pytest.raises(click.UsageError):
        resolved(tuple(shlex.split(line)[1:]))


# --- YAML


@pytest.mark.parametrize(("page", "block"), list(blocks("yaml")))
def test_yaml_loads_as_what_it_is(page: Page, block: Block, tmp_path: Path) -> None:
    text = block.text
    if any(page.name == name and text.startswith(head) for name, head in FRAGMENTS):
        return
    first = re.search(r"^(- )?(\w+):", text, re.MULTILINE)
    assert first is not None, text
    if first[1]:
        assert read_playbook(text, page.name)
    elif first[2] == "system":
        assert System.model_validate(load_yaml(text, page.name)).gates
    else:
        assert first[2] in InventoryPart.model_fields, f"what is this? {text}"
        (tmp_path / "fleet.yml").write_text(text, encoding="utf-8")
        if not re.search(r"^(hosts|containers|images|groups):", text, re.MULTILINE):
            (tmp_path / "more.yml").write_text("hosts: {somebody: {local: }}\n", encoding="utf-8")
        load_inventory(tmp_path, known=Known.of(load_catalogue().systems))


# --- what is marked is run


@pytest.mark.parametrize("page", named([page for page in PAGES if page.runs]))
def test_what_a_page_tells_to_run_runs(page: Page, tmp_path: Path) -> None:
    home = documents.furnished(tmp_path / "home")
    folder = tmp_path / "work"
    folder.mkdir()
    documents.stage_images(folder)
    if page.clone:
        documents.cloned(folder)
    for block in page.runs:
        if block.writes:
            path = folder / block.writes
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        else:
            told = documents.ran(block.text, folder, home, exits=block.exits, clone=page.clone)
            for line in block.promised:
                assert line in told, f"{page.name}:{block.line} promises {line!r}:\n{told}"
