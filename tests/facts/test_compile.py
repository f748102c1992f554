"""A request becomes one program; every word of it is quoted in one place."""

import re
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.probing import NONCE, Shell

from fleet.errors import UsageError
from fleet.facts.compile import probe_script
from fleet.facts.paths import State
from fleet.facts.request import (
    CommandQuestion,
    ContainerQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)


def calls(request: Request) -> list[list[str]]:
    """Return the words of the calls in a program."""
    body = probe_script(request).rpartition("\nmain() {\n")[2].partition("\n}\nmain </dev/null")[0]
    words = shlex.split(re.sub(r"\n(?=ans|ask|see)", "\n;", body))
    return [call.split("\t") for call in "\t".join(words).split("\t;")]


def test_one_call_for_each_question() -> None:
    launch = LaunchQuestion("zsh -ic", ("A",), ("B", "C"), (CommandQuestion("pi", manifest=True),))
    request = Request(
        NONCE,
        paths=(PathQuestion("~/a b", Read.ENV, 9, ("X", "Y")), PathQuestion("/b")),
        launches=(launch, LaunchQuestion("container")),
        processes=(
            ProcessQuestion("serve", ("a.b", "x"), ("--host",), ("--token",), ("V",), ("S",)),
        ),
        containers=(ContainerQuestion("pal", ("V",), ("S",)),),
        listeners=True,
        interfaces=True,
        known=frozenset({"b" * 64, "a" * 64}),
        seconds=3,
    )
    assert calls(request) == [
        ["answer_begin", NONCE, "3", f"{'a' * 64} {'b' * 64}"],
        ["ask_launch", "l0", "A", "B C", "zsh", "-ic"],
        ["see_programs", "pi"],
        ["ask_paths", "p0", "e", "9", "~/a b", "X Y", "p1", "s", "524288", "/b", ""],
        ["ask_command", "l0.0", "pi", "s", "524288", "1"],
        ["ask_launch", "l1", "", ""],
        ["answer_paths"],
        ["ask_candidates", r"(^|[/.])a\.b$"],
        ["ask_process", "r0", "a.b\nx", "--host", "--token", "V", "S"],
        ["ask_listeners"],
        ["ask_interfaces"],
        ["ask_containers", "c0", "pal", "--host\n--port\n--palace", "--token", "V", "S"],
        ["answer_end"],
    ]


def test_nothing_runs_when_the_program_is_cut(dash: Shell) -> None:
    script = probe_script(Request(NONCE))
    for length in range(0, len(script) - len("\nexit 0\n") - len("in </dev/null"), 997):
        assert b"@fleet" not in dash.run(script[:length]).stdout


@pytest.mark.parametrize(
    ("request_", "functions"),
    [
        (Request(NONCE), set()),
        (Request(NONCE, paths=(PathQuestion("/x", Read.ENV),)), {"_env"}),
        (Request(NONCE, listeners=True), {"ask_process"}),
        (Request(NONCE, launches=(LaunchQuestion("container"),)), {"ask_launch"}),
        (
            Request(
                NONCE,
                launches=(LaunchQuestion("sh -c", commands=(CommandQuestion("x", Read.ENV),)),),
            ),
            {"ask_launch", "_env"},
        ),
        (
            Request(NONCE, containers=(ContainerQuestion("x"),)),
            {"ask_launch", "ask_process", "ask_containers"},
        ),
    ],
)
def test_only_what_is_needed_travels(request_: Request, functions: set[str]) -> None:
    script = probe_script(request_)
    names = {"_env", "ask_launch", "ask_process", "ask_containers"}
    assert {name for name in names if f"\n{name}() {{" in script} == functions


def test_comments_do_not_travel() -> None:
    assert "shellcheck" not in probe_script(Request(NONCE))


@pytest.mark.parametrize(
    "request_",
    [
        Request("x"),
        Request("no blanks please"),
        Request(NONCE, paths=(PathQuestion("relative"),)),
        Request(NONCE, paths=(PathQuestion("~other/x"),)),
        Request(NONCE, paths=(PathQuestion("/a\0b"),)),
        Request(NONCE, paths=(PathQuestion("/a", Read.ENV, public=("A B",)),)),
        Request(NONCE, launches=(LaunchQuestion(""),)),
        Request(NONCE, launches=(LaunchQuestion("bash -c 'x"),)),
        Request(NONCE, launches=(LaunchQuestion("sh -c", public=("A-B",)),)),
        Request(NONCE, launches=(LaunchQuestion("sh -c", secret=("$(id)",)),)),
        Request(NONCE, launches=(LaunchQuestion("sh -c", commands=(CommandQuestion("a/b"),)),)),
        Request(NONCE, processes=(ProcessQuestion("none", ()),)),
        Request(NONCE, processes=(ProcessQuestion("empty", ("",)),)),
        Request(NONCE, processes=(ProcessQuestion("feed", ("a\nb",)),)),
        Request(NONCE, containers=(ContainerQuestion("p", secret=("1A",)),)),
        *(
            Request(NONCE, launches=(LaunchQuestion("sh -c", commands=(each,)),))
            for each in (
                CommandQuestion("node", version="--version --all"),
                CommandQuestion("node", version="'; touch /tmp/x; '"),
                CommandQuestion("node", version="$(id)"),
                CommandQuestion("no de", version="-v"),
                CommandQuestion("node", version="-v\n"),
                CommandQuestion("n=o", version="-v"),
            )
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(request_: Request) -> None:
    with pytest.raises(UsageError):
        probe_script(request_)


PATH_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(names=st.lists(PATH_TEXT, min_size=10, max_size=10, unique=True))
def test_any_path_is_asked_for_as_it_is(dash: Shell, names: list[str]) -> None:
    asked = tuple(PathQuestion(f"/no such folder/{name}") for name in names)
    facts = dash.facts(Request(NONCE, paths=asked))
    for question in asked:
        fact = facts.paths[question.path]
        assert (fact.state, fact.absolute) == (State.ABSENT, question.path)
        assert fact.at == "/no such folder"
