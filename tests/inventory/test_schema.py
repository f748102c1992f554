"""The JSON Schema says what the loader does."""

import jsonschema
import pytest
from support.places import CASES, ROOT

from fleet.inventory.schema import inventory_schema
from fleet.inventory.starter import starter
from fleet.inventory.yaml import load

FOLDER = CASES / "inventory"


def valid(data: object) -> bool:
    validator = jsonschema.Draft202012Validator(inventory_schema())
    return not list(validator.iter_errors(data))


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(inventory_schema())


def test_it_takes_what_the_loader_takes() -> None:
    for text in (starter()["fleet.yml"], (ROOT / "inventory/fleet.yml").read_text("utf-8")):
        assert valid(load(text, "f.yml"))


@pytest.mark.parametrize(
    "case",
    [
        "unknown-key-of-host",
        "unknown-key-of-group",
        "unknown-key-at-the-top",
        "unknown-key-of-gate",
        "waiver-half-written",
        "wrong-types",
        "image-without-address",
    ],
)
def test_it_refuses_what_the_loader_refuses(case: str) -> None:
    assert not valid(load((FOLDER / case / "fleet.yml").read_text("utf-8"), "f.yml"))
