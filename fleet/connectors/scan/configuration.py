"""Secrets in an image's configuration, the inventory's own among them."""

import json
from collections.abc import Iterator, Mapping

from fleet.connectors.scan.rules import Rules
from fleet.facts.model import MOST_FOUND, SecretFact
from fleet.verifier.image_config import SHAPE, secrets_in_config, texts_in_config

NAMED = "a telling name"


def baked_in(raw: bytes, rules: Rules) -> tuple[SecretFact, ...]:
    """Return where a configuration holds a secret, at most :data:`MOST_FOUND` of them.

    Args:
        raw: the configuration as it stands, or what an engine's inspect says, as JSON.
        rules: with the secrets of the inventory.
    """
    config: object = json.loads(raw)
    if not isinstance(config, dict):
        return ()
    found = [
        SecretFact(place=place, key="" if key == SHAPE else key, rule=_rule(key))
        for place, key in secrets_in_config(config)
    ]
    return tuple(dict.fromkeys([*found, *_known(config, rules)]))[:MOST_FOUND]


def _known(config: Mapping[str, object], rules: Rules) -> Iterator[SecretFact]:
    for place, text in texts_in_config(config):
        for hit in rules.known_in(text.encode("utf-8", "surrogateescape")):
            yield SecretFact(place=place, key=hit.key, rule=hit.rule)


def _rule(key: str) -> str:
    return key if key == SHAPE else NAMED
