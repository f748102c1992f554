"""Playbooks as they are written: keys, batches, and mistakes with their place."""

import pytest

from fleet.errors import InventoryError
from fleet.inventory.playbook import read_playbook


def batches(serial: str, count: int) -> list[int]:
    (play,) = read_playbook(f"targets: all\nserial: {serial}\n", "book.yml")
    return play.batches(count)


@pytest.mark.parametrize(
    ("serial", "count", "sizes"),
    [
        ("3", 10, [3, 3, 3, 1]),
        ("25%", 10, [3, 3, 3, 1]),
        ("25%", 2, [1, 1]),
        ("1%", 3, [1, 1, 1]),
        ("100%", 7, [7]),
        ("[1, 50%]", 10, [1, 5, 4]),
        ("[1, 2]", 6, [1, 2, 2, 1]),
        ("50", 3, [3]),
        ("2", 0, []),
    ],
)
def test_targets_are_split_into_batches(serial: str, count: int, sizes: list[int]) -> None:
    assert batches(serial, count) == sizes
    assert sum(sizes) == count


def test_all_targets_are_one_batch_where_nothing_is_said() -> None:
    (play,) = read_playbook("targets: all\n", "book.yml")
    assert (play.batches(5), play.max_failures, play.verify) == ([5], 0, True)


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("- targets: all\n  seriel: 2\n", "book.yml:2:3", "did you mean `serial`?"),
        ("- name: x\n", "book.yml:1:3", "`targets` is missing"),
        ("- targets: all\n  serial: 0\n", "book.yml:2:11", "not '0'"),
        ("- targets: all\n  serial: 0%\n", "book.yml:2:11", "not '0%'"),
        ("- targets: all\n  serial: 101%\n", "book.yml:2:11", "not '101%'"),
        ("- targets: all\n  max_failures: some\n", "book.yml:2:17", "not 'some'"),
        ("- targets: all\n  state: gone\n", "book.yml:2:10", "'absent'"),
        ("- just words\n", "book.yml:1:3", "a play is a mapping"),
        ("[]\n", "book.yml", "no play in it"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, place: str, told: str) -> None:
    with pytest.raises(InventoryError) as caught:
        read_playbook(text, "book.yml")
    assert place in str(caught.value)
    assert told in str(caught.value)
