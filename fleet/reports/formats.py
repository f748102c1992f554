"""The forms of reports by name. Imports nothing: a command line is read before a run is made."""

FORMATS = {
    "terminal": "fleet.reports.terminal:render",
    "json": "fleet.reports.json:render",
    "junit": "fleet.reports.junit:render",
    "sarif": "fleet.reports.sarif:render",
    "markdown": "fleet.reports.markdown:render",
    "html": "fleet.reports.html:render",
    "github": "fleet.reports.github:render",
    "tap": "fleet.reports.tap:render",
    "prometheus": "fleet.reports.prometheus:render",
}
#: Those that show time: what the runs before said.
TIMED = ("html",)
