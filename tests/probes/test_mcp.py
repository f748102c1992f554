"""The questions to a palace: what is asked, what is kept, and what can never be kept."""

import json
import time
from typing import Any

import pytest
from support.mcp_server import Rule, ScriptedMcpServer, palace_rules

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.probes.mcp import Further, ask_palace, wait_until_answers
from fleet.secrets import Secret

GOOD = "tok-EXAMPLE-good"
RPC = {"method": "POST", "path": "/mcp"}


def ask(
    rules: list[Rule], *, token: str | None = GOOD, deadline: float = 5.0, **more: Any
) -> tuple[EndpointFact, ScriptedMcpServer]:
    secret = None if token is None else Secret(token)
    with ScriptedMcpServer(rules) as server:
        fact = ask_palace(server.url, token=secret, place="controller", deadline=deadline, **more)
    return fact, server


def with_status(status: dict[str, Any]) -> EndpointFact:
    return ask(palace_rules(status=status))[0]


def test_a_palace_is_named_counted_and_found_usable() -> None:
    fact, _ = ask(palace_rules())
    assert (fact.server, fact.version) == ("mempalace", "3.11.0")
    assert (fact.palace, fact.drawers, fact.usable) == ("/data/palace", 7, True)
    assert fact.tools == ("mempalace_status", "mempalace_mine")
    assert fact.place == "controller"


def test_one_connection_carries_all_questions() -> None:
    assert ask(palace_rules())[1].connections == 1


def test_both_media_types_are_accepted_in_every_message() -> None:
    _, server = ask(palace_rules())
    assert {h.accept for h in server.heard} == {"application/json, text/event-stream"}


def test_the_right_token_is_sent_only_where_it_belongs() -> None:
    _, server = ask(palace_rules())
    sent = [h.authorization for h in server.heard]
    assert sent[:2] == ["", ""]
    assert sent[2].startswith("Bearer ")
    assert sent[2] != f"Bearer {GOOD}"
    assert set(sent[3:]) == {f"Bearer {GOOD}"}


def test_the_wrong_token_can_be_left_out() -> None:
    fact, server = ask(palace_rules(), further=Further(wrong_token=False))
    assert "wrong-token" not in fact.answers
    assert server.asked.count("initialize") == 2


STATUS: dict[str, Any] = {
    "total_drawers": 7,
    "sqlite_integrity": {"ok": True, "palace": "/data/palace"},
    "library_versions": {
        "stale": True,
        "packages": [{"package": "chromadb", "serving": "1.5.9", "installed": "1.6.0"}],
    },
}


def test_what_it_runs_and_what_is_installed() -> None:
    fact = with_status(STATUS)
    assert fact.stale is True
    assert fact.stale_packages == ("chromadb: 1.5.9 is running, 1.6.0 is installed",)
    assert ask(palace_rules())[0].stale is None


def test_what_it_could_not_compare_is_not_counted_as_equal() -> None:
    unread = {"chromadb": "no baseline: not resolved when this server started"}
    libraries = {"stale": False, "packages": [], "unreadable": unread}
    fact = with_status({**STATUS, "library_versions": libraries})
    assert fact.stale is None
    assert fact.stale_packages[0].startswith("chromadb: not compared: no baseline")
    assert with_status({**STATUS, "library_versions": {**libraries, "unreadable": {}}}).stale is (
        False
    )


@pytest.mark.parametrize(
    "libraries",
    [None, [], {}, {"stale": "no"}, {"stale": 0, "packages": []}],
)
def test_a_staleness_that_is_not_told_is_not_made_up(libraries: object) -> None:
    fact = with_status({**STATUS, "library_versions": libraries})
    assert (fact.stale, fact.stale_packages) == (None, ())


def test_what_is_told_of_libraries_is_bounded_and_escaped() -> None:
    packages = [{"package": "p\x1b[31m", "serving": "x" * 900, "installed": 7}, "odd"] * 40
    fact = with_status({**STATUS, "library_versions": {"stale": True, "packages": packages}})
    assert 0 < len(fact.stale_packages) <= 20
    assert all(len(p) <= 240 and "\x1b" not in p for p in fact.stale_packages)


def with_page(page: dict[str, Any]) -> EndpointFact:
    return ask([{"if": {"path": "/statusz"}, "do": {"json": page}}, *palace_rules()])[0]


def test_the_page_tells_the_paths_digest_and_who_may_write() -> None:
    digest = "21b479acc9be20c4"
    fact = with_page(
        {"palace": {"path_hash": digest}, "writer": {"read_only": False, "odd": "yes"}}
    )
    assert (fact.path_hash, fact.writer) == (digest, {"read_only": False})
    odd = with_page({"palace": {"path_hash": "../../etc"}, "writer": [True]})
    assert (odd.path_hash, odd.writer) == ("", {})


AROUND = Further(routes=("/sync/peers", "/health"), strangers=True)


def test_what_surrounds_the_endpoint_is_told_as_it_comes() -> None:
    rules: list[Rule] = [
        {"if": {"path": "/sync/peers"}, "do": {"json": {}}},
        {"if": {"host_not_in": ["nobody"], "path": "/health"}, "do": {"status": 404}},
        *palace_rules(),
    ]
    fact, server = ask(rules, further=AROUND)
    told = {name: (a.status, a.trouble, a.detail) for name, a in fact.answers.items()}
    assert told["/sync/peers"] == (200, None, "application/json")
    assert told["/health"] == (404, None, "text/plain")
    assert told["foreign-origin"] == (200, None, "application/json")
    assert told["foreign-host"] == (200, None, "application/json")
    assert [h.host for h in server.heard].count("stranger.example.net") == 1
    assert ask(rules)[0].answers.keys().isdisjoint({"/sync/peers", "foreign-origin"})


def test_a_route_that_never_speaks_takes_its_share_only() -> None:
    events = {"status": 200, "hang": True, "headers": {"content-type": "text/event-stream"}}
    rules: list[Rule] = [{"if": {"path": "/sync/peers"}, "do": events}, *palace_rules()]
    started = time.monotonic()
    fact, _ = ask(rules, further=AROUND, deadline=3.0)
    assert time.monotonic() - started < 3.0
    # Its head is the answer: a stream has no end to wait for.
    assert fact.answers["/sync/peers"].status == 200
    assert fact.answers["/sync/peers"].detail == "text/event-stream"


def test_the_token_is_in_nothing_that_a_route_answers() -> None:
    headers = {"content-type": f"text/{GOOD}\x1b"}
    rules: list[Rule] = [
        {"if": {"path": "/health"}, "do": {"body": GOOD, "headers": headers}},
        *palace_rules(),
    ]
    fact, _ = ask(rules, further=AROUND)
    assert GOOD not in fact.model_dump_json()


def test_a_wrong_token_is_told_apart_from_a_dead_server() -> None:
    fact, server = ask(palace_rules(), token="tok-EXAMPLE-old")
    assert fact.answers["initialize"].status == 401
    assert fact.answers["initialize"].trouble is Trouble.HTTP
    assert fact.answers["no-token"] == fact.answers["no-token"].model_copy(
        update={"status": 401, "trouble": None}
    )
    assert "tools/list" not in server.asked


def test_an_open_server_is_answered_where_it_should_refuse() -> None:
    rules = palace_rules()
    for rule in rules:
        rule["if"].pop("auth", None)
    fact, _ = ask(rules)
    for name in ("no-token", "wrong-token"):
        assert fact.answers[name].status == 200
        assert fact.answers[name].trouble is Trouble.HTTP
    assert ask(rules, token=None)[0].usable is True


def test_a_session_is_kept() -> None:
    rules = palace_rules()
    rules[1]["do"]["headers"] = {"mcp-session-id": "session-EXAMPLE"}
    _, server = ask(rules)
    assert [h.session for h in server.heard if h.method == "POST"] == [
        *[""] * 3,
        *["session-EXAMPLE"] * 3,
    ]


def test_an_empty_palace_is_not_usable_and_is_still_named() -> None:
    fact = with_status(
        {
            "error": "Chroma database missing",
            "sqlite_integrity": {"checked": False, "ok": None, "palace": "/data/palace"},
        }
    )
    assert (fact.palace, fact.usable) == ("/data/palace", False)
    assert fact.trouble == "Chroma database missing"


def test_a_damaged_palace_is_not_usable() -> None:
    integrity = {"ok": False, "palace": "/p", "errors": ["row 3 missing from index"]}
    fact = with_status(
        {"total_drawers": 0, "sqlite_integrity_failed": True, "sqlite_integrity": integrity}
    )
    assert (fact.usable, fact.drawers) == (False, 0)
    assert fact.trouble == "the integrity check failed: row 3 missing from index"


def test_a_palace_that_only_says_that_the_check_failed() -> None:
    fact = with_status({"total_drawers": 0, "sqlite_integrity_failed": True})
    assert (fact.usable, fact.trouble) == (False, "the integrity check failed: no detail given")


def test_the_status_tool_is_believed_before_the_page() -> None:
    page = {"palace": {"sqlite_integrity": {"palace": "/other"}}}
    rules = [{"if": {"path": "/statusz"}, "do": {"json": page}}, *palace_rules()]
    assert ask(rules)[0].palace == "/data/palace"


def test_an_integrity_check_that_did_not_run_says_nothing() -> None:
    fact = with_status({"total_drawers": 2, "sqlite_integrity": {"ok": None, "palace": "/p"}})
    assert (fact.usable, fact.trouble) == (True, "")


@pytest.mark.parametrize("status", [{}, {"total_drawers": True}, {"total_drawers": "7"}])
def test_a_status_without_a_count_proves_nothing(status: dict[str, Any]) -> None:
    assert with_status(status).usable is None


def test_a_json_rpc_error_on_status_is_the_palaces_own_word() -> None:
    rules = palace_rules()
    rules[4]["do"] = {"error": {"code": -32002, "message": "palace is corrupt"}}
    fact, _ = ask(rules)
    assert fact.usable is False
    assert fact.trouble == "JSON-RPC error -32002: palace is corrupt"


def test_statusz_names_the_palace_where_the_status_tool_cannot() -> None:
    rules = palace_rules()
    rules[4]["do"] = {"error": {"code": -32002, "message": "corrupt"}}
    page = {"palace": {"sqlite_integrity": {"palace": "/data/palace"}}}
    rules.insert(0, {"if": {"path": "/statusz"}, "do": {"json": page}})
    fact, _ = ask(rules)
    assert (fact.palace, fact.usable) == ("/data/palace", False)


@pytest.mark.parametrize(
    "do, trouble, detail",
    [
        ({"status": 404, "body": "no"}, Trouble.HTTP, "HTTP 404 for Host"),
        ({"status": 502, "body": "no"}, Trouble.HTTP, "HTTP 502 for Host"),
        ({"status": 202}, Trouble.HTTP, "HTTP 202 for Host"),
        ({"body": ""}, Trouble.NOT_MCP, "HTTP 200 without a body"),
        ({"body": "<html>hi"}, Trouble.NOT_MCP, "text/plain, not a JSON-RPC message"),
        ({"json": ["x"]}, Trouble.NOT_MCP, "application/json, not a JSON-RPC message"),
        ({"json": {"jsonrpc": "2.0", "id": 99, "result": {}}}, Trouble.NOT_MCP, "it ended without"),
        ({"result": "hello"}, Trouble.NOT_MCP, "the answer has no result"),
        ({"result": {"x": 1}}, Trouble.NOT_MCP, "the result is not that of initialize"),
        ({"error": {"code": -1, "message": "no"}}, Trouble.NOT_MCP, "JSON-RPC error -1: no"),
        ({"error": 5}, Trouble.NOT_MCP, "JSON-RPC error of an unknown shape"),
        ({"close": True}, Trouble.RESET, "the connection was closed"),
        ({"raw": "SSH-2.0-OpenSSH_9\r\n\r\n"}, Trouble.NOT_MCP, "the answer is not HTTP"),
        (
            {"raw": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"},
            Trouble.RESET,
            "the connection was closed before the answer ended",
        ),
        (
            {"json": {}, "headers": {"content-encoding": "gzip"}},
            Trouble.NOT_MCP,
            "compressed, though",
        ),
        (
            {"status": 307, "headers": {"location": "https://u:tok-EXAMPLE-x@other.example.net/"}},
            Trouble.REDIRECT,
            "HTTP 307, redirected to https://other.example.net/",
        ),
    ],
)
def test_a_wrong_answer_is_named(do: Rule, trouble: Trouble, detail: str) -> None:
    fact, server = ask([{"if": RPC, "do": do}])
    assert fact.answers["initialize"].trouble is trouble
    assert fact.answers["initialize"].detail.startswith(detail)
    assert "tools/list" not in server.asked


def test_a_token_is_not_carried_through_a_redirect() -> None:
    with ScriptedMcpServer(palace_rules()) as other:
        do = {"status": 307, "headers": {"location": other.url}}
        fact, _ = ask([{"if": RPC, "do": do}])
    assert fact.answers["initialize"].trouble is Trouble.REDIRECT
    assert other.heard == []


def test_a_server_that_drips_runs_out_of_time() -> None:
    rules = [{"if": RPC, "do": {"drip_s": 0.05}}]
    fact, _ = ask(rules, deadline=1.2)
    answer = fact.answers["initialize"]
    assert (answer.trouble, answer.detail) == (
        Trouble.TIMEOUT,
        "the answer did not end within 0.4 s",
    )
    assert sum(a.milliseconds for n, a in fact.answers.items() if n != "wrong-token") < 2400


def test_pings_without_an_event_are_silence() -> None:
    do = {"drip_s": 0.05, "headers": {"content-type": "text/event-stream"}}
    fact, _ = ask([{"if": RPC, "do": do}], deadline=0.9)
    assert fact.answers["initialize"].trouble is Trouble.SILENT


def test_an_answer_beyond_the_limit_is_not_kept() -> None:
    rules = palace_rules()
    rules[3]["do"] = {"result": {"tools": [{"name": "x" * 1024} for _ in range(5000)]}}
    fact, _ = ask(rules)
    assert fact.answers["tools"].trouble is Trouble.NOT_MCP
    assert fact.answers["tools"].detail == "the answer is larger than 4194304 bytes"


def test_nested_json_is_refused_not_followed() -> None:
    do = {"body": "[" * 100_000, "headers": {"content-type": "application/json"}}
    fact, _ = ask([{"if": RPC, "do": do}])
    assert fact.answers["initialize"].trouble is Trouble.NOT_MCP


def test_the_servers_charset_is_never_used() -> None:
    kind = {"content-type": "text/event-stream; charset=bz2"}
    do = {"body": "data: {}\n\n", "headers": kind}
    fact, _ = ask([{"if": RPC, "do": do}])
    assert fact.answers["initialize"].trouble is Trouble.NOT_MCP


def test_what_a_server_says_is_escaped_and_cut() -> None:
    rules = palace_rules(version="3.\x1b[31m\u202e" + "9" * 9000)
    rules[3]["do"]["result"]["tools"] = [{"name": f"t{i}"} for i in range(900)]
    fact, _ = ask(rules)
    assert fact.version.startswith("3.\\x1b[31m\\u202e999")
    assert len(fact.version) < 300
    assert len(fact.tools) == 500


def test_lone_surrogates_survive_saving() -> None:
    rules = palace_rules(version="\ud800")
    assert ask(rules)[0].version == "\\ud800"


def test_an_echoed_token_is_masked_everywhere() -> None:
    rules = palace_rules(
        version=GOOD,
        status={"error": f"who is {GOOD}", "sqlite_integrity": {"palace": f"/x/{GOOD}"}},
    )
    rules[3]["do"]["result"]["tools"] = [{"name": GOOD}]
    fact, _ = ask(rules)
    assert GOOD not in fact.model_dump_json()
    assert fact.trouble == "who is ***"


@pytest.mark.parametrize("token", ["tok-EXAMPLE-1\n", "tok EXAMPLE ", "tok-EXAMPLE-é", "\x00tok"])
def test_a_token_that_no_header_carries_is_told_without_showing_it(token: str) -> None:
    fact, server = ask(palace_rules(), token=token)
    assert fact.answers == {
        "initialize": Answer(
            trouble=Trouble.UNSUPPORTED,
            detail="the token holds a blank, line end or other character that no header can carry",
        )
    }
    assert server.heard == []


@pytest.mark.parametrize(
    "url",
    [
        "",
        "palace",
        "ftp://palace/mcp",
        "http://",
        "http://[::1/mcp",
        "http://x:99999/",
        "http://x:0/",
        "\n",
    ],
)
def test_what_is_no_url_is_not_asked(url: str) -> None:
    fact = ask_palace(url, token=None, place="target")
    assert fact.answers["initialize"].trouble is Trouble.UNSUPPORTED
    assert fact.answers["initialize"].detail == "not an http or https URL"


def test_credentials_in_the_url_are_neither_sent_nor_kept() -> None:
    with ScriptedMcpServer(palace_rules()) as server:
        url = server.url.replace("//", "//me:tok-EXAMPLE-url@")
        fact = ask_palace(url, token=None, place="controller", deadline=5)
    assert fact.url == server.url
    assert all("Basic" not in h.authorization for h in server.heard)


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


def heard(trouble: Trouble | None) -> EndpointFact:
    return EndpointFact(url="u", place="target", answers={"initialize": Answer(trouble=trouble)})


def test_waiting_ends_with_the_first_answer() -> None:
    answers = iter([heard(Trouble.REFUSED), heard(Trouble.HTTP), heard(None), heard(None)])
    clock = FakeClock()
    assert wait_until_answers(lambda: next(answers), 60, clock) == heard(None)
    assert clock.slept == [0.25, 0.5]


def test_waiting_ends_with_the_time() -> None:
    clock = FakeClock()
    assert wait_until_answers(lambda: heard(Trouble.REFUSED), 5, clock) == heard(Trouble.REFUSED)
    assert clock.now == 5


def test_facts_are_plain_data() -> None:
    fact, _ = ask(palace_rules())
    assert EndpointFact.model_validate(json.loads(fact.model_dump_json())) == fact
