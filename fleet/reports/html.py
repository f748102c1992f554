"""The report as one page that opens anywhere: no request to anything, and no build step.

The matrix stands in the page as a table and can be read without scripts; the script adds filters,
keys and the stories behind the cells. A policy in the page allows its own style and script, known
by their hashes, and nothing else; every text of a target is escaped by the template, or stands as
data that the script shows as text.
"""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fleet import __version__
from fleet.dataclass import dataclass
from fleet.reports.findings import Chapters, chapters
from fleet.reports.markdown import WORDS
from fleet.reports.matrix import Mark
from fleet.reports.page.drift import drifts
from fleet.reports.page.grid import cell, grid, look, word
from fleet.reports.page.stories import moment, payload, shown
from fleet.reports.page.strip import strip
from fleet.reports.past import Past
from fleet.reports.text import clip, count, names, printable, unique
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import UNSEEN, Run, conclude, deciding

ROOM = Path(__file__).parent / "page"
LONGEST = 600  # characters of one text outside the stories
MOST = 200  # causes told in one chapter; their cells tell the rest
FEW = 24  # columns of gates that are shown from the start
LETTER, LEAST = 7.0, 4.0  # points of the matrix on paper
PAPER, LINE, GAP = 1250, 1.95, 3.0  # pixels: of a sheet beside names, of a line a point, around it


@dataclass(frozen=True, slots=True)
class Seen:
    """What was asked, and how much of it was not seen."""

    targets: int
    answered: int
    findings: int
    not_checked: int
    unreachable: int
    unreadable: int
    required: int


def render(run: Run, view: View) -> str:
    """Render a run as an HTML document in UTF-8, ending with a newline."""
    past = view.past or Past()
    laid, told = grid(run), chapters(run)
    style, script = (
        _asset("page.css") + _columns(len(laid.systems), len(laid.columns)),
        _asset("page.js"),
    )
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            style=style,
            script=script,
            policy=_policy(style, script),
            data=payload(run, laid, past),
            run=run,
            version=__version__,
            started=moment(run.started),
            seconds=round((run.finished - run.started).total_seconds(), 1),
            conclusion=conclude(run),
            verdict=WORDS[conclude(run).code],
            seen=_seen(run),
            counts=_counts(run),
            grid=laid,
            counted=laid.counts(),
            groups=unique(group for r in run.results for group in r.target.groups),
            closed=len(laid.gates) > FEW,
            strips={name: strip(runs) for name, runs in past.strips.items()},
            fleetwide=[(f, cell([f], strict=run.strict)) for f in run.fleetwide],
            drift=drifts(run.drift),
            told=told,
            followers=_followers(run, told),
            causes=_causes(told),
            marks=tuple(reversed(Mark)),
        )
    )


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"shown": _shown, "count": count, "named": _named, "kept": shown}
    made.globals |= {"look": look, "word": word, "most": MOST}
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return made


def _asset(name: str) -> Markup:
    """Return a file of our own, which is markup as it stands."""
    return Markup((ROOM / name).read_text(encoding="utf-8"))  # noqa: S704 - not from a target


def _columns(systems: int, columns: int) -> Markup:
    """Return the rules that close a system's gates, or hide it; only the script uses them.

    On paper a system whose gates are shown takes no more room than one of them.
    """
    rules = "".join(
        f"#grid.c{n} .g.s{n}, #grid.h{n} .s{n} {{ display: none; }}\n" for n in range(systems)
    )
    upright = "".join(
        f"#grid:not(.c{n}) td.s{n}, #grid:not(.c{n}) thead .s{n} span"
        " { writing-mode: vertical-rl; }\n"
        f"#grid:not(.c{n}) thead .s{n} span {{ transform: rotate(180deg); }}\n"
        for n in range(systems)
    )
    every = "".join(f":not(.c{n})" for n in range(systems))
    upright += f"#grid{every} {{ font-size: {_points(columns)}pt; }}\n"
    upright += f"#grid{every} .when svg {{ display: none; }}\n"  # its words stay
    told = f"@media (scripting: enabled) {{\n{rules}}}\n@media print {{\n{upright}}}\n"
    return Markup(told)  # noqa: S704 - numbers alone


def _points(columns: int) -> float:
    """Return the size of letters at which so many columns of one line each fit on a sheet.

    A browser shrinks what is wider than the sheet to two thirds of its size, and cuts the rest.
    """
    return round(max(LEAST, min(LETTER, (PAPER / max(columns, 1) - GAP) / LINE)), 2)


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows this style, this script, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _shown(text: str) -> str:
    return printable(clip(text, LONGEST))


def _named(targets: tuple[str, ...]) -> str:
    return names([printable(clip(target, 80)) for target in targets], 400)


def _seen(run: Run) -> Seen:
    verdicts = run.counts()
    return Seen(
        targets=len(run.results),
        answered=sum(r.facts is not None or r.trouble is None for r in run.results),
        findings=verdicts.total(),
        not_checked=verdicts[Verdict.NOT_CHECKED],
        unreachable=verdicts[Verdict.UNREACHABLE],
        unreadable=verdicts[Verdict.ERROR],
        required=sum(f.verdict in UNSEEN for f in deciding(run)),
    )


def _followers(run: Run, told: Chapters) -> int:
    """Count what was not checked and is told with its cause, not by itself."""
    listed = sum(len(one.gates) * len(one.targets) for one in told.unchecked)
    return run.counts()[Verdict.NOT_CHECKED] - listed


def _counts(run: Run) -> str:
    verdicts = run.counts()
    shown = (
        v for v in Verdict if v not in UNSEEN and (verdicts[v] or v in (Verdict.PASS, Verdict.FAIL))
    )
    return ", ".join(f"{verdicts[v]} {v.value.replace('-', ' ')}" for v in shown)


def _causes(told: Chapters) -> tuple[tuple[str, object], ...]:
    return (
        ("Failed", told.deciding),
        ("Required, and could not be read", told.unseen),
        ("Advisory: shown, not deciding", told.advisory),
        ("Waived", told.waived),
    )
