"""The part of the page that is written from the numbers."""

import pytest

from benchmarks.hosts.page import BEGIN, END, Circumstances, part, replaced
from benchmarks.hosts.table import Row, Sample

ABOUT: Circumstances = {
    "date": "2026-01-02",
    "machine": {"processors": 2, "processor": "a processor", "memory_gb": 8.2, "kernel": "6.1"},
    "load": {"before": (0.5, 0.4, 0.3), "after": (1.5, 1, 1)},
    "versions": {"quick": ("quick==1.2",)},
}


def row(name: str, hosts: int, wall: float) -> Row:
    return Row(name, name, hosts, (Sample(wall, wall / 10, 1.0, 0.0, hosts, hosts, 50.0),))


ROWS = [row("fleet", 1, 0.5), row("floor", 20, 1.0), row("fleet", 20, 2.0), row("quick", 20, 9.0)]


def test_the_part_tells_machine_date_table_and_ratios() -> None:
    told = part(ROWS, ABOUT, {"quick": "Quick"})
    assert "Measured on 2026-01-02: 2 processors (a processor),\n8 GB, Linux 6.1." in told
    assert "Load\n0.5 before, 1.5 after. Versions: quick==1.2." in told
    assert "| quick | 20 | 1 | 9.00 | 45.0 | 50.0 | 1 | 50 | 4.5 |" in told
    assert "- 20 hosts: 2.0 times the floor, 7.9 ms" in told
    assert "times slower: Quick 4.5." in told


def test_a_page_keeps_what_stands_round_the_part() -> None:
    first = replaced("# Page\n", "one")
    assert first == f"# Page\n\n{BEGIN}\n\none\n\n{END}\n"
    assert replaced(f"{first}\nmore\n", "two") == f"# Page\n\n{BEGIN}\n\ntwo\n\n{END}\n\nmore\n"
    with pytest.raises(ValueError, match="mark"):
        replaced(f"# Page\n{BEGIN}\n", "two")
