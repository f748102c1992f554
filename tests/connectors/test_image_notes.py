"""A folder of notes in an image: told as on a running target, from every form of layers."""

from pathlib import Path

import pytest
from support.images import PASSWD, WRITERS, Write, collect
from support.trees import DictTree, asking

from fleet.demo.layout import BakedImage, Member, layer
from fleet.facts.notes import NO_LOOK, NoteFact
from fleet.facts.notes_tree import read_notes
from fleet.facts.request import PathQuestion, Read
from fleet.facts.walk import Unreadable

OLD = layer(
    [
        PASSWD,
        Member("memory/MEMORY.md", b"[a](a.md)\n"),
        Member("memory/gone.md", b"x"),
        Member("memory/projects/one/t.md", b"old\n"),
        Member("memory/linked.md", kind="link", target="/elsewhere/far.md"),
    ]
)
NEW = layer(
    [
        Member("memory/.wh.gone.md"),
        Member("memory/projects/one/t.md", b"canary <private>\nnew\n"),
        Member("elsewhere/far.md", b"far"),
    ]
)


@pytest.mark.parametrize("write", WRITERS)
def test_notes_of_an_image_are_those_of_its_newest_layers(tmp_path: Path, write: Write) -> None:
    target = write(tmp_path / "image", [BakedImage([OLD, NEW], tag="palace:1")])
    facts = collect(target, asking(PathQuestion("/memory", Read.NOTES)))
    assert facts.paths["/memory"].notes == (
        NoteFact(name="MEMORY.md", size=10, lines=1, links=("a.md",)),
        NoteFact(name="linked.md", size=3, lines=1),
        NoteFact(name="projects/one/t.md", size=21, lines=2, matches=("private",)),
    )
    assert b"canary" not in facts.model_dump_json().encode()
    assert not facts.contents


class Closed(DictTree):
    """A tree in which one folder may not be looked into."""

    def listdir(self, path: str) -> list[str]:
        if path == "/m/shut":
            raise Unreadable(path, "it is damaged")
        return super().listdir(path)


def test_what_a_tree_cannot_tell_is_said() -> None:
    tree = Closed({"/m/a.md": b"x", "/m/b.md": b"y", "/m/shut/c.md": b"z"}, hidden=("/m/b.md",))
    notes, why = read_notes(tree, "/m", 100)
    assert why is None
    assert [(note.name, note.why) for note in notes] == [
        ("a.md", None),
        ("b.md", "permission denied: this user may not read it"),
        ("shut", NO_LOOK),
    ]
