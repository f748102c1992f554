"""What pi-mnemo makes of its variables: what node itself makes of the same text, and the cost."""

import json
import math
import subprocess
from zoneinfo import available_timezones

import pytest
from support.mnemo import PI, installed
from support.tools import pi_tool

from fleet.inventory.model import Value
from fleet.systems.catalogue import load_catalogue
from fleet.systems.pi_mnemo import values
from fleet.systems.pi_mnemo.values import PREFIX, RULES, complaints, number_in
from fleet.testing import Secret, judge
from fleet.verifier.launches import Unseen
from fleet.verifier.model import Finding, Verdict

NUMBERS = [
    *("", "0", "5", "-1", "+7", "007", "1e3", "1E-2", ".5", "5.", ".", "1_000", "1,5", "5.5.5"),
    *("0x1F", "0X1f", "0b101", "0o17", "0b2", "0x", "-0x10", "0x1_0", "0x 1", "1n", "1e", "1e+"),
    *("NaN", "Infinity", "-Infinity", "inf", "nan", "1e999", "\u0663", "10s", "24h", "86400000"),
    *("--1", " ", "\t7\n", " 5 ", "5 5", "\u00a08", "\ufeff9"),
]
ZONES = [
    *("Europe/Berlin", "UTC", "europe/berlin", "Etc/GMT+5", "Mars/Olympus", "Berlin", "local"),
    *("+05:30", "+0530", "+05", "-23:59", "+24:00", "+5"),
]
TIMES = [
    *("18:30", "8:05", "08:30", "24:00", "23:60", "7", "7:5", " 18:30 ", "18.30", "18:30:00", "x"),
]
ASK = """
const asked = JSON.parse(process.argv[1]);
const zone = (name) => {
  try { Intl.DateTimeFormat("en-US", { timeZone: name }); return true; } catch { return false; }
};
const time = (text) => {
  const found = /^(\\d{1,2}):(\\d{2})$/.exec(text.trim());
  return Boolean(found) && Number(found[1]) <= 23 && Number(found[2]) <= 59;
};
console.log(JSON.stringify({
  numbers: asked.numbers.map((text) => Number(text)).map((n) => (Number.isFinite(n) ? n : null)),
  zones: asked.zones.map(zone),
  times: asked.times.map(time),
}));
"""


@pytest.fixture(scope="module")
def node() -> dict[str, list[object]]:
    """What node makes of all the texts above."""
    asked = json.dumps({"numbers": NUMBERS, "zones": ZONES, "times": TIMES})
    words = [str(pi_tool().node), "-e", ASK, asked]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    told: dict[str, list[object]] = json.loads(done.stdout)
    return told


def test_numbers_are_read_as_node_reads_them(node: dict[str, list[object]]) -> None:
    mine = [number_in(text) for text in NUMBERS]
    for text, own, theirs in zip(NUMBERS, mine, node["numbers"], strict=True):
        same = own is theirs is None or (own is not None and math.isclose(own, float(str(theirs))))
        assert same, (text, own, theirs)


def test_time_zones_are_those_that_node_knows(node: dict[str, list[object]]) -> None:
    mine = [not complaints("PI_MNEMO_DREAM_TZ", name) for name in ZONES]
    assert dict(zip(ZONES, mine, strict=True)) == dict(zip(ZONES, node["zones"], strict=True))


def test_times_are_those_that_the_extension_takes(node: dict[str, list[object]]) -> None:
    mine = [not complaints("PI_MNEMO_DREAM_WINDOW_END", text) for text in TIMES]
    assert dict(zip(TIMES, mine, strict=True)) == dict(zip(TIMES, node["times"], strict=True))


def test_a_controller_without_time_zones_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert available_timezones()
    monkeypatch.setattr(values, "available_timezones", set)
    values._zones.cache_clear()
    try:
        [line] = complaints("PI_MNEMO_DREAM_TZ", "Europe/Berlin")
    finally:
        values._zones.cache_clear()
    assert isinstance(line, Unseen)


def test_every_variable_of_the_description_has_a_rule() -> None:
    declared = load_catalogue().system("pi-mnemo").variables.values()
    assert {v.env for v in declared if v.env} == {PREFIX + name for name in RULES}
    assert all(v.public for v in declared if v.env)


def judged(exported: dict[str, str | Secret], **variables: Value) -> Finding:
    world = installed().launch(variables=exported, manifests={"pi": PI})
    return judge("pi-mnemo", world, variables=variables)["mnemo.settings"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("DREAM_WINDOW_START", "25:00", "the window is off, and dreams run all day"),
        ("DREAM_TZ", "Mars/Olympus", "kept in that of the machine"),
        ("DREAM_INTERVAL_MS", "", "is empty: the default of 86400000 counts"),
        ("DREAM_INTERVAL_MS", "a day", "the default of 86400000 counts"),
        ("EXTRACT_MIN_NEW_MESSAGES", "-1", "every time pi settles a worker starts"),
        ("WORKER_TIMEOUT_MS", "600", "ended before it is done"),
        ("DISABLED", "TRUE", "background work stays on"),
        ("DISABLED", "on", "background work stays on"),
        ("ROOT", "~/notes", "nobody expands the `~`"),
        ("ROOT", "notes", "a relative path"),
        ("PROMPTS_DIR", "prompts", "a relative path"),
        ("PI_BIN", "~/bin/pi", "no worker starts"),
        ("PI_BIN", "bin/pi", "a relative path"),
        ("EXTRACT_MODEL", "opus", "not PROVIDER/ID"),
        ("MODEL_FALLBACK", "a/b, c", "not PROVIDER/ID"),
        ("WORKER_TOOLS", "read,grep", "no tool that writes"),
        ("WORKER", "1", "does nothing at all"),
    ],
)
def test_a_bad_value_fails_and_its_cost_is_told(name: str, text: str, told: str) -> None:
    found = judged({PREFIX + name: text})
    assert (found.verdict, found.required) == (Verdict.FAIL, True), found
    assert f"bash -lc: {PREFIX}{name} " in found.evidence[0]
    assert told in found.evidence[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DREAM_WINDOW_END", ""),
        ("DREAM_INTERVAL_MS", "0"),
        ("DISABLED", "0"),
        ("DISABLED", "yes"),
        ("ROOT", ""),
        ("ROOT", "/srv/notes"),
        ("PI_BIN", "pi"),
        ("MODEL_FALLBACK", "a/b, c/d/e"),
        ("WORKER_TOOLS", "read, write"),
        ("WORKER", "0"),
    ],
)
def test_a_good_value_passes(name: str, text: str) -> None:
    found = judged({PREFIX + name: text})
    assert found.verdict is Verdict.PASS, found
    assert PREFIX + name in found.message


def test_what_the_inventory_declares_is_judged_before_it_is_deployed() -> None:
    found = judged({}, mnemo_dream_window_start="18.30")
    assert found.verdict is Verdict.FAIL
    assert found.evidence[0].startswith("declared: PI_MNEMO_DREAM_WINDOW_START is '18.30'")
    found = judged({}, env={"PI_MNEMO_DISABLE": "1"})
    assert found.evidence == (
        "declared: PI_MNEMO_DISABLE is none of its variables: nothing reads it",
    )
    assert judged({}, mnemo_disabled=True).verdict is Verdict.PASS


def test_without_any_variable_the_defaults_hold() -> None:
    assert judged({}).message == "none is set, and the defaults are taken as they are meant"


def test_a_launch_that_could_not_be_asked_is_not_checked() -> None:
    world = installed().launch(state="timeout")
    assert judge("pi-mnemo", world)["mnemo.settings"].verdict is Verdict.NOT_CHECKED


def test_what_a_hostile_launch_exports_stays_one_short_line() -> None:
    found = judged({"PI_MNEMO_DREAM_TZ": "\x1b[2J" + "x" * 5000})
    assert found.verdict is Verdict.FAIL
    assert "\x1b" not in found.evidence[0]
    assert len(found.evidence[0]) < 200
