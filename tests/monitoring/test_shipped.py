"""Alert rules and dashboard: promtool takes them, and every metric that they name is told."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from support.crafted import craft
from support.places import ROOT

from fleet.reports.prometheus import exposed, metrics
from fleet.watch.loop import Plan, Watch

RULES = ROOT / "monitoring" / "fleet.rules.yml"
DASHBOARD = ROOT / "monitoring" / "grafana-dashboard.json"
CASE = ROOT / "tests" / "cases" / "monitoring" / "rules-test.yml"
WIDTH = 24  # columns of a dashboard
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)"
)


def told(tmp_path: Path) -> dict[str, set[str]]:
    """Return every metric that fleet tells, with its labels."""
    watch = Watch(lambda: None, Plan(60, timedelta(), tmp_path), (), print)  # type: ignore[arg-type,return-value]  # it is not run
    text = watch.metrics().text + exposed(metrics(craft("mixed")))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (t["expr"] for panel in dashboard()["panels"] for t in panel["targets"])


@pytest.mark.parametrize("expression", [*expressions()])
def test_every_metric_and_label_is_one_that_fleet_tells(expression: str, tmp_path: Path) -> None:
    known = told(tmp_path)
    named = re.findall(r"\b(fleet_\w+)(?:\{([^}]*)\})?", expression)
    assert named
    for name, matchers in named:
        assert name in known, name
        for label in re.findall(r"(\w+)\s*[=!]~?=?\"", matchers):
            assert label in known[name], (name, label)
    for listed in re.findall(r"by \(([^)]*)\)", expression):
        for label in listed.split(", "):
            assert any(label in known[name] for name, _ in named), label


@needs_promtool
def test_promtool_takes_the_rules_and_they_fire_when_they_should(tmp_path: Path) -> None:
    run("check", "rules", str(RULES))
    case = tmp_path / "test.yml"
    case.write_text(CASE.read_text(encoding="utf-8").replace("RULES", str(RULES)))
    run("test", "rules", str(case))


@needs_promtool
def test_promtool_takes_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    made = [
        {"record": f"panel:{number}", "expr": re.sub(r"\$\w+", "x", expression)}
        for number, expression in enumerate(expressions())
    ]
    file = tmp_path / "panels.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": made}]}))
    run("check", "rules", str(file))


def run(*words: str) -> None:
    assert PROMTOOL is not None
    ended = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_rule_says_how_bad_it_is_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}


def test_the_dashboard_has_the_form_that_grafana_loads() -> None:
    board = dashboard()
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(board)
    panels = board["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    variables = {v["name"] for v in board["templating"]["list"]}
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}"
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        refs = [t["refId"] for t in panel["targets"]]
        assert len(refs) == len(set(refs))
        for target in panel["targets"]:
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= variables


def test_grafanas_own_models_load_the_dashboard_and_lose_nothing() -> None:
    """What Grafana's foundation SDK does not know, it drops: then it would not be there again."""
    sdk = "grafana_foundation_sdk"
    models = pytest.importorskip(f"{sdk}.models.dashboard")
    encoder = pytest.importorskip(f"{sdk}.cog.encoder")
    pytest.importorskip(f"{sdk}.cog.plugins").register_default_plugins()
    loaded = models.Dashboard.from_json(dashboard())
    assert {type(target).__module__ for panel in loaded.panels for target in panel.targets} == {
        f"{sdk}.models.prometheus"
    }
    again = json.loads(encoder.JSONEncoder().encode(loaded))
    assert list(lost(dashboard(), again, "")) == []


def lost(told: Any, again: Any, place: str) -> Iterator[str]:
    """Yield the places of what is not there again, or is another."""
    if isinstance(told, dict) and isinstance(again, dict):
        for key, value in told.items():
            yield from lost(value, again.get(key), f"{place}/{key}")
    elif isinstance(told, list) and isinstance(again, list) and len(told) == len(again):
        for number, (one, other) in enumerate(zip(told, again, strict=True)):
            yield from lost(one, other, f"{place}/{number}")
    elif told != again:
        yield place
