"""How a target is reached: the address it names, or what Ansible's variables come to."""

from functools import lru_cache
from pathlib import Path

from fleet.dataclass import dataclass
from fleet.errors import InventoryError
from fleet.inventory.address import image_address, parse_address, rooted
from fleet.inventory.ansible_terms import Terms
from fleet.inventory.draft import TargetDraft, WrittenAddress
from fleet.inventory.model import Address, Become, Kind, Scheme
from fleet.inventory.variables import Rendering


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a target is, and as whom."""

    address: Address
    become: Become | None = None
    identity: str | None = None


def reach(draft: TargetDraft, terms: Terms, rendering: Rendering) -> Reached | None:
    """Return how to reach a target; None where its address cannot be rendered (a fault).

    Raises:
        InventoryError: what is written leads nowhere; shows the right spelling.
    """
    if draft.address is None:
        return _by_terms(draft, terms)
    text = rendering.text(draft.address.text, draft.address.place)
    identity = rendering.text(draft.identity, draft.place)
    if text is None or identity is None:
        return None
    base = _folder(draft.address.place.file)
    address = _address(draft.address, text, base)
    become = Become(draft.become) if draft.become else None
    return Reached(address, become, rooted(identity, base) if identity else None)


@lru_cache(maxsize=256)
def _folder(file: str) -> Path:
    return Path(file).parent


def _by_terms(draft: TargetDraft, terms: Terms) -> Reached:
    if draft.kind is Kind.CONTAINER:
        return Reached(parse_address(f"container:{draft.name}", place=draft.place))
    if draft.kind is Kind.IMAGE:
        raise InventoryError(
            f"the image `{draft.name}` has no address",
            place=draft.place,
            hint="write `image: REF`, `image: oci:DIR` or `image: oci-archive:FILE`",
        )
    base = _folder(draft.place.file)
    become = Become(draft.become) if draft.become else terms.become()
    identity = rooted(draft.identity, base) if draft.identity else terms.identity()
    return Reached(terms.address(draft.name), become, identity)


def _address(written: WrittenAddress, text: str, base: Path) -> Address:
    place = written.place
    match written.key:
        case "ssh":
            return _only(Scheme.SSH, parse_address(text, place=place), written)
        case "local":
            return parse_address(f"local:{text.removeprefix('local:')}", place=place, base=base)
        case "rootfs":
            return parse_address(f"rootfs:{text.removeprefix('rootfs:')}", place=place, base=base)
        case "container":
            return parse_address(f"container:{text.removeprefix('container:')}", place=place)
        case _:
            return image_address(text, place=place, base=base)


def _only(scheme: Scheme, address: Address, written: WrittenAddress) -> Address:
    if address.scheme is not scheme:
        raise InventoryError(
            f"`{written.key}: {written.text}` leads to a {address.scheme.kind}",
            place=written.place,
            hint="containers stand under `containers:`, images under `images:`",
        )
    return address
