"""The report as JUnit XML, in the form that Jenkins' xUnit plugin and Maven Surefire describe.

A suite for each target, a case for each gate. What makes fleet's exit code 2 is a ``failure``,
what makes it 3 an ``error``; whatever decides nothing and does not hold is ``skipped`` with its
reason, so that it neither looks like a success nor breaks a build.
"""

from io import BytesIO

from junitparser import Error, Failure, Skipped
from junitparser.junitparser import FinalResult
from junitparser.xunit2 import JUnitXml, TestCase, TestSuite

from fleet.reports.points import Outcome, Point, Suite, suites
from fleet.reports.text import printable
from fleet.reports.view import View
from fleet.verifier.run import Run, conclude

REASONS = {
    Outcome.ADVISORY: "advisory, does not decide: ",
    Outcome.UNCHECKED: "not checked: ",
    Outcome.NOT_APPLICABLE: "not applicable: ",
    Outcome.WAIVED: "waived: ",
}


def render(run: Run, _view: View) -> str:
    """Render a run as JUnit XML in UTF-8."""
    report = JUnitXml(f"fleet {run.command}")
    found = suites(run)
    made = [_suite(suite, run) for suite in found]
    for suite in made:
        report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]  # the library is typed in part
    for suite, told in zip(made, found, strict=True):
        suite.time = told.result.milliseconds / 1000 if told.result else 0.0
    report.time = round((run.finished - run.started).total_seconds(), 3)
    stream = BytesIO()
    report.write(stream, pretty=True)
    return stream.getvalue().decode("utf-8")


def _suite(suite: Suite, run: Run) -> TestSuite:
    made = TestSuite(suite.name)  # type: ignore[no-untyped-call]  # the library is typed in part
    made.timestamp = run.started.isoformat(timespec="seconds")
    for name, value in _properties(suite, run):
        made.add_property(name, value)
    made.add_testcases([_case(point) for point in suite.points])
    hostname = suite.result.facts.platform.hostname if suite.result and suite.result.facts else ""
    if hostname:
        made.hostname = printable(hostname)
    return made


def _properties(suite: Suite, run: Run) -> list[tuple[str, str]]:
    conclusion = conclude(run)
    told = [
        ("fleet.run", run.id),
        ("fleet.exit-code", str(conclusion.code)),
        ("fleet.conclusion", printable(conclusion.reason)),
    ]
    if suite.result is not None:
        target = suite.result.target
        told += [("address", printable(str(target.address))), ("kind", target.kind.value)]
    return told


def _case(point: Point) -> TestCase:
    case = TestCase(point.name, f"{point.target}.{point.system}")
    result = _result(point)
    if result is not None:
        result.text = "\n".join((point.message, *point.details))
        case.result = [result]
    elif point.outcome is Outcome.WARNED:
        case.system_out = "\n".join((f"warning: {point.message}", *point.details))
    return case


def _result(point: Point) -> FinalResult | None:
    if point.outcome is Outcome.FAILED:
        return Failure(point.message, point.word)
    if point.outcome is Outcome.UNSEEN:
        return Error(point.message, point.word)
    if point.outcome in REASONS:
        return Skipped(REASONS[point.outcome] + point.message, point.word)
    return None
