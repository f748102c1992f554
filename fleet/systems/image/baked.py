"""Secrets that an image holds: where, and in which layer. Never what they are."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from fleet.facts.images import MOST_FOUND, ScanFact, SecretFact
from fleet.facts.text import printable
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed

NO_IMAGE = "a root folder has no configuration"
_MOST = 20
_ONE_FILE = 3
_PLACES = "ENV, labels, history, entrypoint, cmd and healthcheck"
_LIKELY = "read were those that may be expected to hold credentials; --scan all reads every file"
_ALL = "read was every file up to 1 MiB"


def env(look: Look) -> Judgement:
    """No secret stands in the configuration."""
    image = look.facts.image
    if image is None:
        return not_applicable(NO_IMAGE)
    if image.baked is None:
        return not_checked(NOT_ASKED)
    if image.baked:
        count = len(image.baked)
        what = "a secret" if count == 1 else f"{count} secrets"
        what = f"at least {what}" if count >= MOST_FOUND else what
        return failed(f"the configuration holds {what}", *_cut(map(_in_config, image.baked)))
    return passed(f"no secret in {_PLACES}")


def _in_config(found: SecretFact) -> str:
    key = f"{found.key}: " if found.key else ""
    return printable(f"{found.place}: {key}{found.rule}")


def layers(look: Look) -> Judgement:
    """No secret stands in a file of any layer."""
    image = look.facts.image
    scan = image.scan if image else look.facts.scan
    if scan is None:
        return not_checked(NOT_ASKED)
    seen = _seen(scan)
    if scan.found:
        return failed(f"{_holding(scan)} a secret; {seen}", *_cut(_files(scan)), *_counted(scan))
    if image and scan.layers == 0:
        return not_checked("its layers could not be seen")
    if scan.closed:
        return not_checked(
            f"{_count(scan.closed, 'folder')} could not be read", seen, *_scope(scan)
        )
    if scan.unseen:
        return not_checked(_unseen(scan), seen, *_scope(scan))
    if scan.cut:
        return not_checked(f"the search ended early, when {scan.cut}", seen, *_scope(scan))
    return passed(f"no secret found; {seen}", *_scope(scan))


def _holding(scan: ScanFact) -> str:
    files = len({(found.layer, found.place) for found in scan.found})
    if scan.more:
        return f"at least {_count(files, 'file')} hold{'s' if files == 1 else ''}"
    return "a file holds" if files == 1 else f"{files} files hold"


def _counted(scan: ScanFact) -> list[str]:
    """Say how much was found that no line tells."""
    return [f"found besides, and only counted: {scan.more}"] if scan.more else []


def _seen(scan: ScanFact) -> str:
    if scan.layers == 0:
        return f"read {scan.read} of {_count(scan.files, 'file')}"
    layers = scan.layers - len(scan.unseen)
    of = f"{layers} of {scan.layers} layers" if scan.unseen else _count(layers, "layer")
    return f"read {scan.read} of {_count(scan.files, 'file')} in {of}"


def _unseen(scan: ScanFact) -> str:
    """Say once what holds of all layers, else which they are."""
    reasons = list(dict.fromkeys(scan.unseen.values()))
    if len(scan.unseen) == scan.layers and len(reasons) == 1:
        more = "; --scan all reads them" if scan.depth == "likely" else ""
        return f"its layers could not be seen: {printable(reasons[0])}{more}"
    told = ", ".join(map(str, sorted(scan.unseen)[:_MOST]))
    return f"layers not looked into: {told} of {scan.layers} ({printable(reasons[0])})"


def _scope(scan: ScanFact) -> list[str]:
    lines = [_ALL if scan.depth == "all" else _LIKELY]
    lines += [f"not read, {printable(why)}: {n}" for why, n in scan.skipped.items()]
    if scan.secrets:
        lines.append(f"looked for {_count(scan.secrets, 'secret')} of the inventory too")
    return lines


def _files(scan: ScanFact) -> list[str]:
    """Return a line for each file and layer: what is in it, and whether it still shows."""
    lines = []
    for (number, place), group in groupby(scan.found, lambda found: (found.layer, found.place)):
        found = list(group)
        gone = f", gone since layer {found[0].gone}" if found[0].gone else ""
        digest = found[0].digest.removeprefix("sha256:")[:12]
        told = f" {digest}" if digest else ""
        of = f" (layer {number} of {scan.layers}{told}{gone})" if scan.layers else ""
        lines.append(printable(f"{place}: {_what(found)}{of}"))
    return lines


def _what(found: Sequence[SecretFact]) -> str:
    told = [f"{one.key} ({one.rule})" if one.key else one.rule for one in found]
    more = f" and {len(told) - _ONE_FILE} more" if len(told) > _ONE_FILE else ""
    return ", ".join(told[:_ONE_FILE]) + more


def _cut(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    more = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return every[:_MOST] + more


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
