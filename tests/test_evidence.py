"""The table of evidence is whole: every gate, each way it can end, and tests that are there."""

import subprocess
import sys

from support.evidence_table import FOLDER, NEVER, WAYS, entries, gates, lacking, named, of_system
from support.places import ROOT

from fleet.systems.catalogue import load_catalogue
from fleet.verifier.fleetwide.rules import SYSTEM

KNOWN = {verdict for some in WAYS.values() for verdict in some}


def test_every_gate_is_proved_each_way_it_can_end() -> None:
    assert {gate: ways for gate in gates() if (ways := lacking(gate))} == {}


def test_every_gate_stands_in_the_file_of_its_system() -> None:
    files = {gate.id: system.system for system, gate in load_catalogue().gates()}
    files |= {gate.id: files.get(gate.id, SYSTEM.system) for gate in SYSTEM.gates}
    written = {gate: path.stem for path in FOLDER.glob("*.yml") for gate in of_system(path)}
    assert written == files


def test_what_stands_there_is_a_verdict_or_a_reason() -> None:
    for gate, ways in entries().items():
        never = ways.get(NEVER, {})
        assert isinstance(never, dict), gate
        assert {*ways} - {NEVER} <= KNOWN, gate
        assert {*never} <= {*WAYS}, gate
        assert all(len(str(reason)) > 20 for reason in never.values()), gate


def test_the_tests_that_are_named_are_there() -> None:
    tests = {test for _, _, test in named()}
    files = sorted({test.partition("::")[0] for test in tests})
    words = ["-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert tests - set(listed.stdout.splitlines()) == set()
