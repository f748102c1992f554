"""The commits that an image is declared to be built of: by the inventory, and by its own label."""

import re
from collections.abc import Iterator

from fleet.dataclass import dataclass
from fleet.facts.text import printable
from fleet.verifier.fleetwide.member import Copy, Member, Unseen, bridge_copy
from fleet.verifier.toolkit import Commit

REVISION = "org.opencontainers.image.revision"
_SHORTEST = 7  # of the spellings of a commit that are taken for one
_ID = re.compile(r"[0-9a-fA-F]{7,64}")
_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of one image.

    Attributes:
        sides: what each declared commit carries, to be compared with the image's bytes.
        notes: labels that say nothing of the toolkit, each with the reason.
        contradictions: declared commits that are not one.
    """

    sides: tuple[Copy | Unseen, ...] = ()
    notes: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()


def declared_commits(member: Member) -> Declared:
    """Return what an image's ``toolkit_ref`` and its label declare.

    A label may name a commit of another project, the base image's for one: it counts only where
    the toolkit's history knows it.
    """
    copy = bridge_copy(member)
    if isinstance(copy, Unseen):
        return Declared()
    ref, label = _ref(member), _label(member)
    sides = [_carried(member, copy, f"{member.name}, its declared commit", ref)] if ref else []
    if not label:
        return Declared(tuple(sides))
    shown = printable(label, _SHOWN)
    labelled = _commit(member, label)
    if labelled is None:
        return Declared(tuple(sides), (f"{member.name}, its label: {shown}, {_why(member)}",))
    sides.append(_carried(member, copy, f"{member.name}, its label's commit", label))
    return Declared(tuple(sides), (), tuple(_differ(member, ref, labelled)))


def _differ(member: Member, ref: str, labelled: Commit) -> Iterator[str]:
    meant = _commit(member, ref) if ref else None
    if meant is not None and meant.id != labelled.id:
        yield f"{member.name}: its label says {labelled}, its toolkit_ref {meant}"


def _ref(member: Member) -> str:
    ref = member.target.variables.get("toolkit_ref")
    return ref if isinstance(ref, str) and len(ref) >= _SHORTEST else ""


def _label(member: Member) -> str:
    image = member.facts.image if member.facts else None
    return image.labels.get(REVISION, "").strip() if image else ""


def _commit(member: Member, name: str) -> Commit | None:
    known = member.toolkit is not None and not member.toolkit.trouble
    if member.toolkit is None or not known or not _ID.fullmatch(name):
        return None
    return member.toolkit.commit(name)


def _why(member: Member) -> str:
    if member.toolkit is None or member.toolkit.trouble:
        return "which no toolkit clone could tell"
    return "which is no commit of the toolkit"


def _carried(member: Member, copy: Copy, side: str, name: str) -> Copy | Unseen:
    """Return what a declared commit carries at the place of the image's copy."""
    if member.toolkit is None or member.toolkit.trouble:
        return Unseen(side, "no toolkit clone tells what it carries")
    named = member.toolkit.name(copy.blob)
    commit = member.toolkit.commit(name)
    if commit is None or named is None:
        of = printable(name, _SHOWN) if named else "the bytes"
        return Unseen(side, f"the toolkit's history does not know {of}")
    blob = member.toolkit.blob_at(named[0], commit)
    content = copy.sha256 if blob == copy.blob else blob or "-"
    return Copy(side, content, str(commit), commit=commit)
