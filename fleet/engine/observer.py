"""Who is told how a job over many targets goes on, while it goes on."""

from typing import Protocol


class Observer(Protocol):
    """Told as work proceeds; called from any thread, never raises, never slows the work.

    What is told is for a person's eyes: results travel by return values only.
    """

    def target_started(self, name: str, what: str) -> None:
        """Work on a target begins; ``what`` is one or two words (``asking``, ``applying``)."""
        ...

    def target_finished(self, name: str, ok: bool, note: str) -> None:
        """Work on a target ended; ``note`` is one line, empty when there is nothing to tell."""
        ...

    def target_judged(self, name: str, ok: bool, note: str) -> None:
        """A target's gates were asked; ``note`` is one line: what they come to."""
        ...

    def said(self, text: str) -> None:
        """Something about the job as a whole, one line."""
        ...


class NullObserver:
    """Listens, and says nothing."""

    def target_started(self, name: str, what: str) -> None:
        """Ignore it."""

    def target_finished(self, name: str, ok: bool, note: str) -> None:
        """Ignore it."""

    def target_judged(self, name: str, ok: bool, note: str) -> None:
        """Ignore it."""

    def said(self, text: str) -> None:
        """Ignore it."""
