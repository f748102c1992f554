"""What a target answers that is asked the same again, and what it need not tell twice.

A shell that stays on a target (``probe/again.sh``) tells anew what runs there. What lies at paths
and what launches report it tells once; that it answers at all says that all of it is as it was.
"""

from dataclasses import replace

from fleet.facts.model import Facts
from fleet.facts.request import Request

#: What it is sent.
ASK = b"again\n"

#: The facts that are told anew.
TOLD_AGAIN = (
    "taken_at",
    "platform",
    "processes",
    "containers",
    "listeners",
    "interfaces",
    "crontab",
    "checks",
)
_TOLD_ONCE = frozenset({"launches"})  # of the parts that may be unseen


def stays(nonce: str) -> bytes:
    """Return what a shell says last that can be asked again."""
    return f"@stays\t{nonce}\n".encode()


def asked_again(request: Request) -> Request:
    """Return what is answered anew of a request."""
    return replace(request, paths=(), launches=(), known=frozenset())


def joined(before: Facts, now: Facts) -> Facts:
    """Return what was told before and still holds, with what is told now."""
    unseen = {part: why for part, why in before.unseen.items() if part in _TOLD_ONCE} | now.unseen
    return before.model_copy(
        update={**{name: getattr(now, name) for name in TOLD_AGAIN}, "unseen": unseen}
    )
