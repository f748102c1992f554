"""What an inventory's names are checked against is read when it is asked for."""

import pytest

from fleet.inventory.known import Each, Known
from fleet.systems.catalogue import Described, load_catalogue
from fleet.systems.model import System


def test_each_is_worked_out_once_and_only_when_asked() -> None:
    asked = list[str]()

    def tell(name: str) -> str:
        asked.append(name)
        return name.upper()

    each = Each(("a", "b"), tell)
    assert (len(each), [*each], "b" in each, asked) == (2, ["a", "b"], True, [])
    assert (each["b"], each["b"], asked) == ("B", "B", ["b"])
    with pytest.raises(KeyError):
        each["c"]


def test_of_a_system_that_nobody_names_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = Described(load_catalogue().packages)
    read = list[str]()
    look_up = Described.__getitem__

    def noted(self: Described, name: str) -> System:
        read.append(name)
        return look_up(self, name)

    monkeypatch.setattr(Described, "__getitem__", noted)
    known = Known.of(systems, ["fleet.skew"])
    assert "env" in known.capabilities
    assert read == []
    assert known.defaults["env"]["env_file"] == "~/.config/pi/.env"
    assert {*read} == {"env"}
    assert "bridge.feed" in known.gates["mempalace-bridge"]
    assert [*known.gates[""]] == ["fleet.skew"]
