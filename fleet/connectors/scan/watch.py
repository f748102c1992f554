"""What a source of layers tells, whatever it is: tar archives, folders of overlay2, a registry."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["file", "directory", "link", "other"]

#: Returns a file's content when it has no more bytes than the number given. To be called at once:
#: a source that streams has moved on by the next entry. Raises ``Unreadable`` where it cannot.
Read: TypeAlias = Callable[[int], bytes]


#: Bytes of a file, or what tells them, where telling them costs something.
Size: TypeAlias = int | Callable[[], int]


class Watch(Protocol):
    """Is told of every layer of an image and of all that each holds, the oldest layer first.

    A source calls :meth:`layer`, then one of the others for each name in that layer, in any order;
    or :meth:`unseen` for a layer that it cannot look into. Paths are absolute, without ``..`` and
    without a slash at their end.
    """

    def layer(self, digest: str) -> None:
        """Begin the next layer. Layers are numbered from 1 in the order they are told.

        Args:
            digest: of the layer, ``sha256:…``; empty where nothing says.
        """
        ...

    def unseen(self, digest: str, why: str) -> None:
        """Say that the next layer cannot be looked into."""
        ...

    def entry(self, path: str, kind: Kind, size: Size, read: Read) -> None:
        """Tell of a name in this layer.

        Args:
            path: where it is in the image.
            kind: of a hard link that a source tells as a file of its own, ``file``.
            size: bytes of a file, 0 of all else.
            read: its content; called for files only, and for few of them.
        """
        ...

    def hard_link(self, path: str, first: str) -> None:
        """Tell of a name for a file that was told of before, or will be, under another.

        Args:
            path: the name.
            first: the other one.
        """
        ...

    def whiteout(self, path: str, *, opaque: bool = False) -> None:
        """Tell that this layer deletes a path of the layers below it.

        Args:
            path: what it deletes.
            opaque: it deletes all that the folder ``path`` holds below, not the folder.
        """
        ...
