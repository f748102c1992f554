"""Canned facts are answered as a target answers, and a user's system is judged by them."""

from pathlib import Path

import pytest
from support import documents
from support.places import ROOT

from fleet.engine.context import Context
from fleet.engine.facts import gather
from fleet.engine.options import AuditOptions
from fleet.errors import CatalogueError, Unreachable, Unsupported
from fleet.facts.request import (
    CommandQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)
from fleet.facts.running import ProcessFact
from fleet.facts.saved import dumps, loads
from fleet.secrets import Secret
from fleet.systems.catalogue import load_catalogue
from fleet.testing import (
    NONCE,
    CannedFacts,
    FakeConnector,
    Outcome,
    State,
    Verdict,
    answering,
    judge,
    make_target,
)

BRIDGE = "~/.pi/agent/extensions/mempalace.ts"
CODE = b"export default () => process.env.MEMPALACE_FEED;"
SECRET = "tok-EXAMPLE-canned"


def test_a_system_is_judged_by_what_is_canned() -> None:
    found = judge("mempalace-bridge", CannedFacts().file(BRIDGE, CODE), require=["feed"])
    assert (found["bridge.feed"].verdict, found["bridge.feed"].required) == (Verdict.PASS, True)
    assert (found["bridge.stamp"].verdict, found["bridge.stamp"].required) == (Verdict.FAIL, False)
    assert found["bridge.seen"].verdict is Verdict.PASS, "its folder is there"
    found = judge("mempalace-bridge", CannedFacts())
    assert found["bridge.placed"].message == "is not there"


def test_saved_facts_of_a_real_target_are_judged_too() -> None:
    where = make_target("mempalace-bridge")
    real = loads(dumps(CannedFacts().file(BRIDGE, CODE).facts(where)), where="saved")
    assert judge("mempalace-bridge", real)["bridge.feed"].verdict is Verdict.PASS


def test_a_package_that_is_not_installed_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one of the page on adding a system, whose text is its test."""
    for block in documents.Page(ROOT / "docs/how-to/add-a-system.md").blocks:
        if block.writes.startswith("note-keeper/note_keeper/"):
            path = tmp_path / block.writes.removeprefix("note-keeper/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def verdict(seen: CannedFacts, **variables: str) -> Verdict:
        found = judge("note-keeper", seen, package="note_keeper", variables=variables)
        return found["notes.quiet"].verdict

    assert verdict(CannedFacts().file("~/notes/INDEX.md", b"- one")) is Verdict.PASS
    assert verdict(CannedFacts().file("~/notes/INDEX.md", b"<private> x")) is Verdict.FAIL
    assert (
        verdict(CannedFacts().file("~/notes/INDEX.md", b""), notes_dir="~/x") is Verdict.NOT_CHECKED
    )
    with pytest.raises(CatalogueError, match="note-keeper"):
        judge("note-keeper", CannedFacts())
    assert "note-keeper" not in load_catalogue().systems


def test_only_what_is_asked_is_answered_and_as_deep() -> None:
    seen = CannedFacts().file("~/a/b", b"text").file("~/c", b"more").folder("~/d", "x")
    questions = (PathQuestion("~/a/b", Read.HASH), PathQuestion("~/a", Read.LIST))
    facts = seen.answer(Request(NONCE, paths=(*questions, PathQuestion("~/e"))), make_target())
    assert set(facts.paths) == {"~/a/b", "~/a", "~/e"}
    assert facts.paths["~/a/b"].sha256
    assert facts.contents == {}
    assert [(e.name, e.kind) for e in facts.paths["~/a"].entries or ()] == [("b", "file")]
    assert facts.paths["~/e"].state is State.ABSENT
    whole = seen.answer(Request(NONCE, paths=(PathQuestion("~/c", Read.WHOLE),)), make_target())
    assert whole.content(whole.paths["~/c"]) == b"more"
    stat = seen.answer(Request(NONCE, paths=(PathQuestion("~/c"),)), make_target())
    assert stat.paths["~/c"].sha256 is None
    assert (stat.listeners, stat.crontab, stat.processes) == (None, None, {})


def test_a_secret_never_leaves_a_canned_target() -> None:
    seen = CannedFacts()
    seen.launch(variables={"TOKEN": SECRET, "URL": "https://x", "OTHER": "o"})
    seen.file("~/env", f"TOKEN={SECRET}\nURL=https://x\n".encode())
    seen.file("~/set.json", f'{{"token": "{SECRET}"}}'.encode())
    launch = LaunchQuestion("bash -lc", ("URL",), ("TOKEN", "UNSET"), (CommandQuestion("pi"),))
    request = Request(
        NONCE,
        paths=(
            PathQuestion("~/env", Read.ENV, public=("URL",)),
            PathQuestion("~/set.json", Read.JSON),
        ),
        launches=(launch, LaunchQuestion("zsh -ic")),
    )
    facts = seen.answer(request, make_target())
    assert SECRET not in dumps(facts)
    told = facts.launches["bash -lc"]
    assert set(told.variables) == {"URL", "TOKEN", "UNSET"}
    assert (told.variables["URL"].value, told.variables["UNSET"].set) == ("https://x", False)
    assert (
        told.variables["TOKEN"].digest
        == seen.launch(variables={"T": Secret(SECRET)}).launches["bash -lc"].variables["T"].digest
    )
    assert told.commands["pi"].file is None
    assert facts.launches["zsh -ic"].state == "unsupported"
    assert facts.paths["~/env"].env is not None


def test_further_parts_are_answered_where_they_are_asked() -> None:
    seen = CannedFacts().also(processes={"pi": (ProcessFact(pid=7, user="u"),)}, crontab=2)
    question = ProcessQuestion("pi", ("pi",))
    facts = seen.answer(Request(NONCE, processes=(question,), crontab="x"), make_target())
    assert (facts.processes["pi"][0].pid, facts.crontab) == (7, 2)
    seen.also(unseen={"processes": "those of others are hidden"})
    request = Request(NONCE, processes=(question,), listeners=True)
    facts = seen.answer(request, make_target())
    assert (facts.processes["pi"][0].pid, facts.listeners) == (7, ())
    assert seen.also(processes={}).answer(request, make_target()).processes == {}
    with pytest.raises(ValueError, match="crontab"):
        CannedFacts().also(crontab="two").facts(make_target())


def test_a_fake_target_counts_what_it_is_asked() -> None:
    where = make_target("mempalace-bridge")
    fake = FakeConnector(CannedFacts().file(BRIDGE, CODE))
    gone = FakeConnector(trouble=Unreachable("no answer", stage="timeout"))
    other = make_target("mempalace-bridge", name="vault", address="ssh://u@vault")
    with answering({"laptop": fake, "vault": gone}):
        every = gather([where, other], Context(load_catalogue()), AuditOptions())
        looked = {one.target.name: one for one in every}  # they come in any order
    assert (fake.connects, fake.round_trips, fake.closed) == (1, 1, True)
    assert (gone.connects, gone.round_trips) == (1, 0)
    assert looked["laptop"].facts is not None
    assert looked["vault"].facts is None
    assert looked["vault"].trouble is not None
    assert looked["vault"].trouble.what == "no answer"
    assert any(path.path == BRIDGE for path in fake.requests[0].paths)


def test_a_target_without_a_fake_is_not_reached_for_real() -> None:
    with answering({}):
        (looked,) = gather([make_target("env")], Context(load_catalogue()), AuditOptions())
    assert looked.trouble is not None
    assert looked.trouble.what == "no fake target stands in for it"


def test_a_fake_target_runs_a_program_only_where_it_has_an_outcome() -> None:
    fake = FakeConnector(outcome=Outcome(0, b"done"))
    assert fake.apply("echo", Secret(SECRET)).output == b"done"
    assert fake.scripts == ["echo"]
    assert SECRET not in repr(vars(fake))
    with pytest.raises(Unsupported):
        FakeConnector().apply("echo", Secret(""))
    with pytest.raises(Unsupported):
        fake.open_tcp("vault", 80)
