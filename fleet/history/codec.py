"""What a run consists of, as JSON and back. Variables of targets may be private: none is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from operator import attrgetter
from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from fleet.errors import HistoryError, ProbeError, TargetError, Unreachable, Unsupported
from fleet.history.model import Acted, Piece, Step
from fleet.history.split import Json, clean
from fleet.inventory.model import Address, Become, Scheme, Target
from fleet.systems.model import Gate
from fleet.verifier.fleetwide.table import Table
from fleet.verifier.model import Finding

# A fleet has very many pieces, and ``asdict`` copies each value of each.
_PIECE = tuple(field.name for field in fields(Piece))
_piece_values = attrgetter(*_PIECE)
_TROUBLES: Mapping[str, type[TargetError]] = {"probe": ProbeError, "unsupported": Unsupported}


@cache
def _findings() -> TypeAdapter[Finding]:
    return TypeAdapter(Finding)


@cache
def _tables() -> TypeAdapter[tuple[Table, ...]]:
    return TypeAdapter(tuple[Table, ...])


def finding_json(finding: Finding) -> Json:
    """Lay out a finding without its target: many targets share what they are told."""
    laid = finding._asdict()
    del laid["target"]
    return cast("Json", to_jsonable_python(laid))


def finding_of(data: bytes, target: str) -> Finding:
    """Return a finding; what else a newer fleet says of it is left out.

    Raises:
        HistoryError: a newer fleet wrote it otherwise, or it is damaged.
    """
    try:
        found = json.loads(data)
        if not isinstance(found, dict):
            raise _unread("a finding")
        laid = {k: v for k, v in found.items() if k in Finding._fields}
        return _findings().validate_json(json.dumps(laid | {"target": clean(target)}))
    except ValueError:  # it is no JSON, or holds what a finding does not
        raise _unread("a finding") from None


def target_json(target: Target) -> Json:
    """Lay out who a target is, without its variables."""
    address = target.address
    return {
        "name": target.name,
        "scheme": address.scheme.value,
        "address": [address.name, address.user, address.port, address.tag],
        "systems": list(target.systems),
        "require": list(target.require),
        "groups": list(target.groups),
        "launches": list(target.launches),
        "become": target.become.user if target.become else None,
    }


def target_of(data: bytes) -> Target:
    """Return who a target was.

    Raises:
        HistoryError: it is damaged.
    """
    try:
        laid = json.loads(data)
        name, user, port, tag = laid["address"]
        return Target(
            name=laid["name"],
            address=Address(Scheme(laid["scheme"]), name, user, port, tag),
            systems=tuple(laid["systems"]),
            require=tuple(laid["require"]),
            groups=tuple(laid["groups"]),
            launches=tuple(laid["launches"]),
            become=Become(laid["become"]) if laid["become"] else None,
        )
    except (KeyError, ValueError, TypeError):
        raise _unread("a target") from None


def trouble_json(trouble: TargetError) -> Json:
    """Lay out why a target could not be asked."""
    kind = "unsupported" if isinstance(trouble, Unsupported) else "probe"
    stage = trouble.stage if isinstance(trouble, Unreachable) else ""
    told: dict[str, Json] = {"what": trouble.what, "where": trouble.where, "hint": trouble.hint}
    return {"kind": "unreachable" if stage else kind, "stage": stage, **told}


def trouble_of(data: bytes) -> TargetError:
    """Return why a target could not be asked.

    Raises:
        HistoryError: a newer fleet wrote it, or it is damaged.
    """
    try:
        laid = json.loads(data)
        what, where, hint = laid["what"], laid["where"], laid["hint"]
        if laid["kind"] == "unreachable":
            return Unreachable(what, stage=laid["stage"], where=where, hint=hint)
        return _TROUBLES[laid["kind"]](what, where=where, hint=hint)
    except (KeyError, ValueError, TypeError):
        raise _unread("why a target was not asked") from None


def gates_json(gates: tuple[Gate, ...]) -> Json:
    """Lay out what the catalogue said of gates."""
    return [gate.model_dump(mode="json", exclude_defaults=True) for gate in gates]


def gates_of(data: bytes) -> tuple[Gate, ...]:
    """Return what the catalogue said of gates; one that this fleet cannot read is left out.

    Raises:
        HistoryError: they are damaged.
    """
    try:
        every = json.loads(data)
    except ValueError:
        every = None
    if not isinstance(every, list):
        raise _unread("the gates of a run")
    found = []
    for laid in every:
        try:
            found.append(Gate.model_validate(laid))
        except ValidationError:
            continue
    return tuple(found)


def drift_json(tables: tuple[Table, ...]) -> Json:
    """Lay out the tables of what has several sides."""
    return cast("Json", to_jsonable_python(tables))


def drift_of(data: bytes) -> tuple[Table, ...]:
    """Return the tables of what has several sides.

    Raises:
        HistoryError: a newer fleet wrote them, or they are damaged.
    """
    try:
        return _tables().validate_json(data)
    except ValidationError:
        raise _unread("a drift table") from None


def pieces_json(pieces: Sequence[Piece]) -> Json:
    """Lay out artifacts as they lay."""
    return [dict(zip(_PIECE, _piece_values(piece), strict=True)) for piece in pieces]


def pieces_of(data: bytes) -> tuple[Piece, ...]:
    """Return artifacts as they lay."""
    return tuple(Piece(**laid) for laid in json.loads(data))


def acted_json(acted: Acted) -> Json:
    """Lay out what was done to a target."""
    return cast("Json", asdict(acted))


def acted_of(data: bytes) -> Acted:
    """Return what was done to a target."""
    laid = json.loads(data)
    return Acted(**laid | {"steps": tuple(Step(**step) for step in laid["steps"])})


def _unread(what: str) -> HistoryError:
    return HistoryError(
        f"{what} in the history cannot be read by this fleet",
        hint="a newer fleet may have written it: update fleet here",
    )
