"""Runs of every shape, with texts as a hostile target would send them."""

from hypothesis import strategies as st
from support.crafted import finding, result, run

from fleet.errors import ProbeError, TargetError, Unreachable
from fleet.inventory.model import Address, Scheme
from fleet.verifier.model import Finding, Severity, Verdict
from fleet.verifier.run import Run, TargetResult

NASTY = (
    "]]>",
    "<!--",
    "</testcase>",
    "::error::owned",
    "\n::add-mask::x",
    "\r::set-output name=a::b",
    "%0A::error::x",
    "| a | b |",
    "\\|",
    "`",
    "```",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</details>",
    "[a](javascript:x)",
    "![a](http://x.example.net/y)",
    "@everyone",
    "#12",
    "# TODO not me",
    "\\# SKIP",
    "\nok 1 - all",
    "\nBail out!",
    "  ...\n",
    "\x00\x1b[31m",
    "\u202e\u2028",
    "\ud800",
    "\ufffe\uffff",
    "https://evil.example.net/",
    "www.evil.example.net",
    "&lt;b&gt;",
    "{0}",
    "$x^2$",
    "1. one",
    "---",
    "日本語",
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.lists(st.sampled_from((*NASTY, "is", "there", " ")), max_size=6).map("".join),
    st.lists(st.sampled_from((*NASTY, "is", "there")), max_size=6).map(" ".join),
)
names = st.builds("{}{}".format, st.sampled_from(("a", "b", "c:1", "d/e")), texts)
GATES = ("bridge.placed", "bridge.feed", "env.loaded", "serve.bind")


@st.composite
def findings(draw: st.DrawFn, target: str, gate: str) -> Finding:
    """Any finding of a gate on a target."""
    verdict = draw(st.sampled_from([v for v in Verdict if v is not Verdict.UNREACHABLE]))
    return finding(
        target,
        gate,
        verdict,
        draw(texts),
        severity=draw(st.sampled_from(Severity)),
        required=draw(st.booleans()),
        evidence=tuple(draw(st.lists(texts, max_size=3))),
        since=draw(st.none() | texts),
        remedy=draw(st.none() | texts),
        follows=draw(st.none() | st.sampled_from(GATES))
        if verdict is Verdict.NOT_CHECKED
        else None,
    )


@st.composite
def results(draw: st.DrawFn, name: str) -> TargetResult:
    """Any result of a target, reached or not."""
    gates = draw(st.lists(st.sampled_from(GATES), unique=True, max_size=4))
    address = Address(Scheme.DOCKER_ARCHIVE, draw(texts)) if draw(st.booleans()) else None
    trouble: TargetError | None = None
    if draw(st.integers(0, 3)) == 0:
        made = (
            Unreachable(draw(texts), stage="connect", hint=draw(texts)),
            ProbeError(draw(texts)),
        )
        trouble = draw(st.sampled_from(made))
        required = draw(st.booleans())
        told = (
            finding(name, gate, Verdict.UNREACHABLE, trouble.what, required=required)
            for gate in gates
        )
        return result(name, *told, address=address, trouble=trouble)
    return result(name, *(draw(findings(name, gate)) for gate in gates), address=address)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run."""
    targets = draw(st.lists(names, unique=True, max_size=4))
    return run(*(draw(results(name)) for name in targets), strict=draw(st.booleans()))
