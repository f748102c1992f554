"""The catalogue: built-in systems, other packages' systems, and a user's own gates."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.facts import BRIDGE, World, findings_in, target

from fleet.errors import CatalogueError
from fleet.inventory.yaml import load as load_yaml
from fleet.systems.catalogue import Catalogue, Described, load_catalogue, validate
from fleet.systems.model import Gate, Link, Package
from fleet.verifier.model import Verdict


def test_every_gate_has_a_question_a_remedy_and_a_working_check() -> None:
    catalogue = load_catalogue()
    gates = catalogue.gates()
    assert {s.system for s, _ in gates} >= {"mempalace-bridge", "env", "mempalace-serve"}
    for system, gate in gates:
        assert gate.asks.endswith("."), gate.id
        assert gate.remedy or gate.id, gate.id
        check = catalogue.check(system.system, gate)
        assert (check is None) == (gate.marker is not None), gate.id


def test_a_name_that_is_not_there_lists_what_is() -> None:
    with pytest.raises(CatalogueError, match="mempalace-bridge"):
        load_catalogue().system("mempalace-brige")
    with pytest.raises(CatalogueError, match="fleet gates"):
        load_catalogue().gate("bridge.fed")


def own(**fields: object) -> Gate:
    return Gate.model_validate({"id": "bridge.mine", "asks": "It does mine.", **fields})


def test_a_users_marker_gate_is_asked_like_any_other() -> None:
    gate = own(marker={"in": "bridge", "all": ["MEMPALACE_MINE"]}, gives="mine")
    catalogue = load_catalogue().extended([("mempalace-bridge", gate)])
    where = target("mempalace-bridge", require=["mine"])
    world = World().file("~/.pi/agent/extensions/mempalace.ts", BRIDGE)
    found = findings_in(catalogue, where, world)["bridge.mine"]
    assert (found.verdict, found.required) == (Verdict.FAIL, True)
    able = BRIDGE + b"const mine = process.env.MEMPALACE_MINE;\n"
    world.file("~/.pi/agent/extensions/mempalace.ts", able)
    assert findings_in(catalogue, where, world)["bridge.mine"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"id": "bridge.feed", "marker": {"in": "bridge", "all": ["X"]}}, "another gate"),
        ({"marker": {"in": "brige", "all": ["X"]}}, "no artifact 'brige'"),
        ({}, "a marker or a check"),
        ({"marker": {"in": "bridge", "all": ["X"]}, "needs": ["bridge.none"]}, "bridge.none"),
    ],
)
def test_a_gate_that_cannot_be_asked_is_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        load_catalogue().extended([("mempalace-bridge", own(**fields))])
    assert told in str(caught.value)


def test_a_marker_that_asserts_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="asserts nothing"):
        own(marker={"in": "bridge"})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A third party's package, installed as pip leaves it."""
    folder = tmp_path / "other_memory"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "system.yml").write_text(
        "system: other-memory\nabout: Another memory.\n"
        "artifacts: {it: {kind: observed, path: ~/.other, read: whole}}\n"
        "gates: [{id: other.there, asks: It is there., check: there, always: true}]\n"
    )
    (folder / "gates.py").write_text(
        "from fleet.verifier.model import failed, passed\n"
        "def there(look):\n"
        "    fact = look.artifact('it')\n"
        "    return passed('there') if fact and fact.final else failed('not there')\n"
    )
    info = tmp_path / "other_memory-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-memory\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fleet.systems]\nother-memory = other_memory\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_catalogue.cache_clear()
    yield folder
    load_catalogue.cache_clear()
    for name in [n for n in sys.modules if n.startswith("other_memory")]:
        del sys.modules[name]


def test_a_third_party_adds_a_system_by_entry_point(package: Path) -> None:
    catalogue = load_catalogue()
    where = target("other-memory")
    assert findings_in(catalogue, where, World().file("~/.other"))["other.there"].verdict is (
        Verdict.PASS
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "{system: other-memory, about: x, artifacts: {a: {kind: link, source: x, needs: [b]}}}",
            "no artifact 'b' before it",
        ),
        ("system: other-memory\nabout: x\ngate: []\n", "gate"),
        ("system: env\nabout: x\n", "described twice"),
        ("a: [", "system.yml"),
    ],
)
def test_a_wrong_description_names_its_file(package: Path, text: str, told: str) -> None:
    (package / "system.yml").write_text(text)
    with pytest.raises((CatalogueError, ValueError)) as caught:
        load_catalogue()
    assert told in str(caught.value)


def test_a_missing_check_is_told_with_its_module(package: Path) -> None:
    (package / "gates.py").write_text("")
    catalogue: Catalogue = load_catalogue()
    system, gate = catalogue.gate("other.there")
    with pytest.raises(CatalogueError, match="'there'"):
        catalogue.check(system.system, gate)


def test_what_is_built_in_fits_together() -> None:
    validate(load_catalogue())


def test_gates_of_what_is_built_in_are_known_by_their_text() -> None:
    packages = load_catalogue().packages
    for name, system in load_catalogue().systems.items():
        assert [*Described(packages).gates(name)] == [gate.id for gate in system.gates]


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note from now on the folder of every description that is read."""
    read: list[str] = []

    def reading(text: str, where: str) -> object:
        read.append(Path(where).parent.name)
        return load_yaml(text, where)

    monkeypatch.setattr("fleet.systems.catalogue.load_yaml", reading)
    return read


def test_of_what_is_built_in_nothing_is_read_where_another_joins_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = noted(monkeypatch)
    assert "other-memory" in load_catalogue().systems
    assert {*read} == {package.name}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("after: [none]", "it is after none"),
        ("after: [other-memory]", "after each other: other-memory"),
        ("gates: [{id: env.file, asks: x, check: x}]", "another gate of this id"),
        ("gates: [{id: other.x, asks: x, check: x, needs: [env.none]}]", "it needs env.none"),
        ("gates: [{id: other.x, asks: x, check: x, fixed_by: [env.none]}]", "no artifact 'none'"),
    ],
)
def test_what_joins_has_to_fit(package: Path, said: str, told: str) -> None:
    (package / "system.yml").write_text(f"system: other-memory\nabout: x\n{said}\n")
    with pytest.raises(CatalogueError) as caught:
        load_catalogue()
    assert told in str(caught.value)


def test_what_joins_may_build_on_what_is_built_in(package: Path) -> None:
    gate = "{id: other.x, asks: x, check: x, needs: [env.file], fixed_by: [env.file]}"
    text = f"system: other-memory\nabout: x\nafter: [env]\ngates: [{gate}]\n"
    (package / "system.yml").write_text(text)
    assert load_catalogue().gate("other.x")[1].needs == ("env.file",)


def test_a_system_is_read_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read = noted(monkeypatch)
    load_catalogue.cache_clear()
    try:
        catalogue = load_catalogue()
        assert "mempalace-bridge" in catalogue.systems
        assert catalogue.capabilities(["mempalace-bridge"])
        assert catalogue.system("mempalace-bridge") is catalogue.system("mempalace-bridge")
        assert read == ["mempalace_bridge"]
    finally:
        load_catalogue.cache_clear()


def test_a_folder_describes_the_system_that_it_is_called_by() -> None:
    described = Described({"pi-other": "fleet.systems.env"})
    with pytest.raises(CatalogueError, match="describes 'env', not 'pi-other'"):
        described["pi-other"]


def test_systems_come_after_what_they_stand_on() -> None:
    """What pi's system brings (node, npm, uv) and what `pi install` writes into come first."""
    systems = load_catalogue().systems
    for name, system in systems.items():
        managers = {a.manager for a in system.artifacts.values() if isinstance(a, Package)}
        if name != "pi" and managers & {"npm", "uv", "pipx", "pi"}:
            assert "pi" in system.after, name
        if "pi" in managers:
            assert "pi-toolkit" in system.after, f"{name}: its install writes settings.json"
        links = [a.source for a in system.artifacts.values() if isinstance(a, Link)]
        if name != "mempalace-bridge" and any("{{ toolkit }}" in source for source in links):
            assert "mempalace-bridge" in system.after, name
