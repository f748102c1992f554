"""What known_hosts holds for a name: found at once where it is spelt out, in the order of lines."""

from pathlib import Path

import pytest

from fleet.connectors import known_hosts
from fleet.connectors.known_hosts import known_keys

LINES = """\
h1,h1.example.net ssh-ed25519 AAAA
*.example.net ssh-ed25519 AAAB
H2 ssh-ed25519 AAAC
# h1 ssh-ed25519 AAAD
!h1,h? ssh-ed25519 AAAE
h1,h1 ssh-rsa AAAF
[h1]:2222 ssh-ed25519 AAAG
@revoked h2 ssh-ed25519 AAAH
h1.example.net ssh-rsa AAAI
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "known_hosts").write_text(LINES)
    return str(tmp_path / "known_hosts")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("h1", [1, 6]),
        ("h1.example.net", [1, 2, 9]),
        ("h2", [3, 5, 8]),
        ("h3", [5]),
        ("[h1]:2222", [7]),
        ("elsewhere", []),
    ],
)
def test_a_name_has_its_keys_in_the_order_of_lines(file: str, name: str, lines: list[int]) -> None:
    (found,) = known_keys([file], [name])
    assert [key.line for key in found] == lines
    assert [[key.line for key in keys] for keys in known_keys([file, file], [name, "h3"])] == [
        lines * 2,
        [5, 5],
    ]


def test_lines_that_spell_names_out_are_not_looked_at_for_each_host(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = known_hosts._means

    def looking(patterns: str, name: str) -> bool:
        asked.append(patterns)
        return real(patterns, name)

    monkeypatch.setattr(known_hosts, "_means", looking)
    for number in range(10):
        known_keys([file], [f"h{number}"])
    assert set(asked) == {"*.example.net", "!h1,h?"}
