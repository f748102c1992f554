"""The table, its ratios and its last line."""

from benchmarks.hosts.table import Row, Sample, beyond_start, cells, last_line, marked, printed

PEERS = {"quick": "quick", "slow": "slow"}


def row(name: str, hosts: int, *walls: float, client: float = 1.0, trips: int = 0) -> Row:
    samples = tuple(
        Sample(wall, client, hosts * 0.05, 0.0, hosts, trips, 10.0 * wall) for wall in walls
    )
    return Row(name, f"the {name}", hosts, samples)


ROWS = [
    row("fleet", 1, 0.5, client=0.4),
    row("floor", 100, 2.0),
    row("fleet", 100, 3.0, 9.0, 4.0, client=1.39, trips=100),
    row("quick", 100, 20.0),
    row("slow", 100, 400.0),
    row("slow", 20, 80.0),
]


def test_the_median_counts_and_the_most_memory() -> None:
    of_fleet = ROWS[2]
    assert of_fleet.wall == 4.0
    assert of_fleet.peak == 90.0
    assert of_fleet.trips == 1
    assert of_fleet.server == 50.0


def test_each_row_is_compared_with_fleet_on_as_many_hosts() -> None:
    assert [cell[-1] for cell in cells(ROWS)] == ["", "0.5", "1.0", "5.0", "100.0", ""]


def test_what_a_host_costs_is_told_without_the_start() -> None:
    assert beyond_start(ROWS, 100) == (1390 - 400) / 99
    assert beyond_start(ROWS[1:], 100) is None


def test_the_last_line_compares_with_the_floor_and_the_quickest_peer() -> None:
    told = "bench: N=100 floor 2.0x, fastest peer quick 5.0x slower, client cpu 10.0 ms/host"
    assert last_line(ROWS, PEERS) == told


def test_the_last_line_leaves_out_what_was_not_measured() -> None:
    assert last_line([ROWS[1], ROWS[2]], PEERS) == "bench: N=100 floor 2.0x"
    assert last_line(ROWS[3:], PEERS) == "bench: fleet was not measured"


def test_both_forms_of_the_table_say_the_same() -> None:
    lines, plain = marked(ROWS).splitlines(), printed(ROWS).splitlines()
    assert len(lines) == len(plain) + 1 == len(ROWS) + 2
    assert lines[4].startswith("| the fleet | 100 | 3 | 4.00 |")
    assert plain[3].split()[-1] == "1.0"
    assert len({line.index("hosts") + 5 for line in plain[:1]}) == 1
