"""Secrets in an image's configuration, the inventory's own among them."""

import json
from collections.abc import Iterator, Mapping

from fleet.connectors.scan.rules import Rules, shapes_in
from fleet.facts.images import MOST_FOUND, SecretFact
from fleet.secrets import MASK
from fleet.verifier.image_config import SHAPE, secrets_in_config, shown_labels, texts_in_config

NAMED = "a telling name"
_ENV = "env"  # the place of variables


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
    found += _shaped(config, {(one.place, one.key) for one in found})
    return tuple(dict.fromkeys([*found, *_known(config, rules)]))[:MOST_FOUND]


def labels_to_show(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels fit to travel: one that holds a secret, by whichever rule, is masked."""
    shown = shown_labels(labels)
    return {name: MASK if shapes_in(text) else text for name, text in shown.items()}


def _shaped(config: Mapping[str, object], told: set[tuple[str, str]]) -> Iterator[SecretFact]:
    """Yield what has a shape that the kept-up rules know, where no name told of it already."""
    places = {place for place, _ in told if place != _ENV}
    for place, text in texts_in_config(config):
        key = text.partition("=")[0] if place == _ENV else ""  # a label's place names it
        if place in places or (place, key) in told:
            continue
        yield from (SecretFact(place=place, key=key, rule=rule) for rule in shapes_in(text))


def _known(config: Mapping[str, object], rules: Rules) -> Iterator[SecretFact]:
    for place, text in texts_in_config(config):
        for hit in rules.known_in(text.encode("utf-8", "surrogateescape")):
            yield SecretFact(place=place, key=hit.key, rule=hit.rule)


def _rule(key: str) -> str:
    return key if key == SHAPE else NAMED
