"""The report as ``fleet.run/1`` JSON."""

from fleet.reports.document import document
from fleet.reports.view import View
from fleet.verifier.run import Run


def render(run: Run, _view: View) -> str:
    """Render a run as indented JSON in UTF-8, ending with a newline."""
    return document(run).model_dump_json(indent=2) + "\n"
