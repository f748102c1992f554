"""The report as ``fleet.run/1`` JSON."""

import json

from fleet.reports.document import document
from fleet.reports.view import View
from fleet.verifier.run import Run


def render(run: Run, _view: View) -> str:
    """Render a run as indented JSON in UTF-8, ending with a newline."""
    return json.dumps(document(run).model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
