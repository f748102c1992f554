"""The reference pages that come from the code: ``python -m fleet.cli.reference [DIR]`` writes them.

A test compares the pages under ``docs/`` with what this makes, so they are never stale.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import click

from fleet.cli.main import EXIT_CODES, cli
from fleet.reports.document import json_schema

WIDTH = 90
PAGES = ("commands.md", "report-schema.md")
NOTE = "<!-- Made by `python -m fleet.cli.reference`; do not edit. -->"


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    made = ("\n".join(_commands()) + "\n", "\n".join(_schema()) + "\n")
    return dict(zip(PAGES, made, strict=True))


def _commands() -> Iterator[str]:
    yield from ("# Commands", "", NOTE, "")
    settings = {**cli.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    root = click.Context(cli, info_name="fleet", **settings)
    yield from _helped(cli, root)
    yield from _group(cli, root)
    yield from ("## Exit codes", "", "```text")
    yield from EXIT_CODES.removeprefix("\b\n").splitlines()
    yield from (
        "```",
        "",
        "`130` means that Ctrl-C interrupted it, `143` and `129` that SIGTERM or SIGHUP did.",
        "",
    )
    yield from _environment()


def _environment() -> Iterator[str]:
    told = {
        "FLEET_INVENTORY": "the inventory, where `-i` does not name one",
        "FLEET_HISTORY": "the file that keeps runs, where `--history` does not name one",
        "FLEET_DEBUG": "`1` shows the traceback of an error inside fleet",
        "FLEET_SSH_CONFIG": "an ssh configuration file in place of `~/.ssh/config`, as `ssh -F`",
        "FLEET_DEMO_MEMPALACE": "a `mempalace` program for the demo, which then installs none",
        "DOCKER_HOST, DOCKER_CONTEXT": "the Docker engine, as for `docker`",
        "NO_COLOR": "anything: no colours",
        "FORCE_COLOR": "anything: colours, even where there is no terminal",
        "COLUMNS": "the width of reports, where there is no terminal (80 without it)",
    }
    yield from ("## Environment", "", "| variable | meaning |", "|---|---|")
    yield from (f"| `{name.replace(', ', '`, `')}` | {meaning} |" for name, meaning in told.items())


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        own = click.Context(command, info_name=name, parent=context, terminal_width=WIDTH)
        yield from (f"## {own.command_path}", "")
        yield from _helped(command, own)
        if isinstance(command, click.Group):
            yield from _group(command, own)


def _helped(command: click.Command, context: click.Context) -> Iterator[str]:
    yield "```text"
    yield from (line.rstrip() for line in command.get_help(context).splitlines())
    yield from ("```", "")


def _schema() -> Iterator[str]:
    schema = json_schema()
    yield from ("# The report as JSON: `fleet.run/1`", "", NOTE, "")
    yield from (
        "`fleet audit --format json` (and `check`, `provision`) prints one document. The layout",
        "only grows: a key that exists keeps its meaning, and a change that would break a reader",
        "gets a new name in `format`. Order is fixed: targets by name, findings by target, system",
        "and gate. Control characters in texts from targets are escaped (`\\x1b`).",
        "",
        "The JSON Schema is `fleet.reports.document.json_schema()`.",
        "",
        "Findings about several targets together have the system `fleet`. Their `target` is no key",
        "of `targets`: it is `fleet`, or the name of the group that was compared.",
        "",
    )
    parts = cast("Mapping[str, Mapping[str, object]]", schema["$defs"])
    yield from _part("The document", schema)
    for name, title in _TITLES.items():
        yield from _part(title, parts[name])
    yield from _words("Verdicts", parts["Verdict"], _VERDICTS)
    yield from _words("Severities", parts["Severity"], _SEVERITIES)
    yield from _words("Standings of a side", parts["Standing"], _STANDINGS)
    yield from _PLANS.splitlines()


_PLANS = """\
## Plans: `fleet.plans/1`

`fleet plan --format json` prints what would change, `apply` and `uninstall` also what came of it.

| key | meaning |
|---|---|
| `targets[].name`, `.address` | whom it is for; sorted by name |
| `targets[].trouble` | why there is no plan: `what`, `where`, `hint`; null when there is one |
| `targets[].changes[]` | `key` (`system.artifact`), `change` (`create`, `change`, `remove`), \
`summary`, `diff` (secrets as `***`), `notes` |
| `targets[].conflicts[]` | `key`, `path`, `what`, `hint`, `adoptable` (whether `--adopt` helps) |
| `targets[].unchanged` | how many artifacts are as declared |
| `targets[].recover` | an earlier run was cut off there, and is undone first |
| `targets[].applied` | after applying only: `changed` (how many), `trouble` |
| `conclusion` | `code` and `reason`, as for a run |
"""
_TITLES = {
    "RunPart": "`run`",
    "TargetPart": "`targets[]`",
    "TroublePart": "`targets[].trouble`",
    "PlatformPart": "`targets[].platform`",
    "FindingPart": "`findings[]`",
    "WaiverPart": "`findings[].waiver`",
    "DriftPart": "`drift[]`",
    "SidePart": "`drift[].sides[]`",
    "CommitPart": "`drift[].reference`, `.newest`, `.sides[].commit`",
    "SummaryPart": "`summary`",
    "TargetCounts": "`summary.targets`",
    "ConclusionPart": "`summary.conclusion`",
}
_VERDICTS = {
    "pass": "the gate holds",
    "fail": "it does not hold",
    "warn": "it holds, but something about it should be known",
    "not-checked": "what it asks could not be seen there; the message says why",
    "unreachable": "the target could not be asked",
    "error": "the target answered, and the answer could not be read",
    "waived": "it does not hold, and that is accepted for a reason and a time",
    "not-applicable": "it asks about something that the target does not have by design",
}
_SEVERITIES = {
    "critical": "memory is lost, exposed, or goes to the wrong palace",
    "major": "a capability is missing",
    "minor": "all else",
}


_STANDINGS = {
    "same": "as the reference, and so what it should be",
    "behind": "as all other sides, and the toolkit's history knows a newer commit",
    "differs": "other bytes than the reference, another image, or not what the compose file says",
    "unseen": "it could not be looked at, or not wholly compared; its notes say why",
}


def _part(title: str, part: Mapping[str, object]) -> Iterator[str]:
    yield from (f"## {title}", "", "| key | type | meaning |", "|---|---|---|")
    properties = cast("Mapping[str, Mapping[str, object]]", part["properties"])
    for name, told in properties.items():
        yield f"| `{name}` | {_type(told)} | {told.get('description', '')} |"
    yield ""


def _type(told: Mapping[str, object]) -> str:
    if "anyOf" in told:
        return " or ".join(_type(one) for one in cast("list[Mapping[str, object]]", told["anyOf"]))
    if "const" in told:
        return f"`{told['const']}`"
    if "enum" in told:
        return ", ".join(f"`{word}`" for word in cast("list[object]", told["enum"]))
    if "$ref" in told:
        return _named(str(told["$ref"]).rpartition("/")[2])
    if told.get("type") == "array":
        return f"list of {_type(cast('Mapping[str, object]', told['items']))}"
    if told.get("format") == "date-time":
        return "time, ISO 8601, UTC"
    return str(told.get("type", "object"))


def _named(name: str) -> str:
    return "object" if name.endswith(("Part", "Counts")) else name.lower()


def _words(title: str, part: Mapping[str, object], meanings: Mapping[str, str]) -> Iterator[str]:
    yield from (f"## {title}", "", "| word | meaning |", "|---|---|")
    for word in cast("list[str]", part["enum"]):
        yield f"| `{word}` | {meanings[word]} |"
    yield ""


def main() -> None:
    """Write the pages into the folder named, ``docs`` where none is."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
