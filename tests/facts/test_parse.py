"""An answer is hostile until it is parsed: cut, doubled, mixed, forged, or no answer at all."""

import base64
import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.probing import NONCE, NOON, Shell, answer

from fleet.errors import ProbeError
from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.parse import parse_answer
from fleet.facts.paths import State
from fleet.facts.request import (
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)
from fleet.facts.running import EnvValue, Listener

WHOLE = Request(
    NONCE,
    paths=(PathQuestion("/f", Read.WHOLE), PathQuestion("/e", Read.ENV, public=("P",))),
    launches=(LaunchQuestion("bash -lc", public=("P",), secret=("S",)),),
    processes=(ProcessQuestion("serve", ("serve",), public=("--host",)),),
    listeners=True,
    interfaces=True,
)
SHA = hashlib.sha256(b"content\n").hexdigest()
OTHER = hashlib.sha256(b"more").hexdigest()
PACKED = "b" + base64.b64encode(b"content\nmore").decode()
DIGEST = "ab" * 32
RECORDS = (
    "begin =fleet.answer/1",
    "platform =Linux =x86_64 =box =me =1000 =/home/me =HOME",
    "path p0 =present =0 =/f =/f - -",
    "path p1 =present =0 =/e =/e - -",
    "launch l0 =ok -",
    "var l0 =P =public =value",
    f"var l0 =S =secret =13 ={DIGEST}",
    "stat p0 =file =644 =0 =8 =1700000000 =root =11",
    "stat p1 =file =600 =0 =20 =1700000000 =root -",
    f"sum p0 ={SHA}",
    f"data ={SHA} b{base64.b64encode(b'content' + bytes([10])).decode()}",
    f"line p1 =1 =1 =S=xxx-0 ={DIGEST} - ={DIGEST}",
    "env p1 =0 - =0 =0",
    "process r0 =7 =me =1700000000 =mempalace^serve",
    "flag r0.7 =--host =127.0.0.1",
    "secret r0.7 =--token",
    "processes r0",
    "listeners =proc =0100007F:223D",
    "interfaces =ip =2:^docker0^^^^inet^172.17.0.1/16^brd",
)


def frame(number: int, text: str, nonce: str = NONCE) -> bytes:
    fields = [field.replace("^", " ") for field in text.split(" ")]
    return "\t".join(["@fleet", nonce, str(number), *fields, "."]).encode() + b"\n"


def frames(records: tuple[str, ...]) -> bytes:
    body = b"".join(frame(number, text) for number, text in enumerate(records, 1))
    return body + frame(len(records) + 1, f"end ={len(records)}")


@cache
def good() -> bytes:
    return b"Welcome!\n\n" + frames(RECORDS) + b"bye\n"


def changed(old: str, new: str) -> bytes:
    records = tuple(new if record.startswith(old) else record for record in RECORDS)
    assert records != RECORDS
    return frames(tuple(record for record in records if record))


def refused(output: bytes, request: Request = WHOLE) -> ProbeError:
    with pytest.raises(ProbeError) as caught:
        answer(output, request)
    assert caught.value.where == "box"
    assert caught.value.what.isprintable()
    return caught.value


def test_good_answer_with_noise_round_it() -> None:
    facts = answer(good(), WHOLE)
    assert facts.content(facts.paths["/f"]) == b"content\n"
    assert facts.paths["/f"].mode == 0o644
    assert facts.launches["bash -lc"].variables == {
        "P": EnvValue(set=True, length=5, value="value"),
        "S": EnvValue(set=True, length=13, digest=DIGEST),
    }
    (process,) = facts.processes["serve"]
    assert process.flags == {"--host": "127.0.0.1"}
    assert process.secret_flags == ("--token",)
    assert facts.listeners == (Listener(address="127.0.0.1", port=0x223D),)
    assert facts.interfaces == {"docker0": ("172.17.0.1",)}
    assert facts.platform.user == "me"
    assert facts.taken_at == NOON


def test_cut_at_every_byte_is_noticed() -> None:
    whole = good()
    end = whole.rindex(b"\nbye")
    for length in range(end):
        refused(whole[:length])
    assert answer(whole[:end], WHOLE) == answer(whole, WHOLE)


def test_a_lost_or_doubled_or_moved_record_is_noticed() -> None:
    lines = frames(RECORDS).splitlines(keepends=True)
    for at in range(len(lines)):
        refused(b"".join(lines[:at] + lines[at + 1 :]))
        refused(b"".join(lines[: at + 1] + lines[at:]))
        if at:
            refused(b"".join([*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]]))
    assert "mixed up" in refused(b"".join(lines[:3] + lines[2:])).what


def test_two_answers_in_one_are_refused() -> None:
    refused(good() + good())
    assert "another question" in refused(frame(1, RECORDS[0], nonce="other-nonce") + good()).what


def test_an_end_that_counts_otherwise_is_refused() -> None:
    body = frames(RECORDS).rpartition(b"@fleet")[0]
    assert "as many records" in refused(body + frame(len(RECORDS) + 1, "end =3")).what


def test_noise_inside_a_line_is_noticed() -> None:
    refused(good().replace(b"@fleet\t" + NONCE.encode() + b"\t5", b"noise@fleet\t5"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("begin", "begin =fleet.answer/2"),
        ("platform", ""),
        ("platform", "platform =Linux =x86_64 =box =me =-1 =/home/me =HOME"),
        ("platform", "platform =Linux =x86_64 =box =me =1 - =HOME"),
        ("path p0", ""),
        ("path p0", "path p0 =present =0 =/f - - -"),
        ("path p0", "path p0 =absent =0 =/f =/f - -"),
        ("path p0", "path p0 =perhaps =0 =/f =/f - -"),
        ("path p0", "path p0 =present =2 =/f =/f - -"),
        ("path p0", "path p0 =present =0 =/f"),
        ("path p0", "path p7 =present =0 =/f =/f - -"),
        ("path p0", "path ../p0 =present =0 =/f =/f - -"),
        ("stat p0", "stat p0 =file =999 =0 =8 =1 =root =1"),
        ("stat p0", "stat p0 =link =644 =0 =8 =1 =root =1"),
        ("stat p0", "stat p0 =file =644 =0 =99999999999999999999 =1 =root =1"),
        ("stat p0", "stat p0 =file =644 =0 =8 =1 =root"),
        ("stat p0", "stat p0 =file =644 =0 =8 =1 =root =x"),
        ("sum p0", ""),
        ("sum p0", f"sum p0 ={SHA[:-1]}"),
        ("sum p0", f"sum p0 ={SHA.upper()}"),
        ("data", f"data ={SHA} b%%%"),
        ("data", f"data ={SHA} bY29"),
        ("data", f"data ={SHA} xABC"),
        ("data", f"data ={SHA} ?abc"),
        ("data", f"data ={SHA}^{OTHER} {PACKED}"),
        ("data", f"data ={SHA}^{OTHER} {PACKED} =1"),
        ("data", f"data ={SHA}^{OTHER} {PACKED} =1^x"),
        ("data", f"data ={SHA}^{SHA} {PACKED} =1^2"),
        ("interfaces", "interfaces =ip l"),
        ("interfaces", "interfaces =ip l|a|\x1b[31m"),
        ("data", f"data - b{base64.b64encode(b'x').decode()}"),
        ("env p1", ""),
        ("var l0 =P", "var l0 =OTHER =public =value"),
        ("var l0 =S", "var l0 =S =public =tok-EXAMPLE-1"),
        ("var l0 =S", "var l0 =S =secret =13 =tok-EXAMPLE-1"),
        ("launch", "launch l0 =fine -"),
        ("launch", ""),
        ("processes", ""),
        ("process r0", "process r0 =seven =me =1 =x"),
        ("listeners", "listeners =proc =nothing"),
        ("listeners", ""),
        ("interfaces", "surprise =x"),
        ("interfaces", "unseen =weather =x"),
    ],
)
def test_what_was_not_agreed_is_refused(old: str, new: str) -> None:
    error = refused(changed(old, new))
    assert "tok-EXAMPLE" not in str(error)


def test_paths_that_are_absent_are_told_together() -> None:
    paths = ("~", "~/a/b", "/c/d/", "/é")
    request = Request(NONCE, paths=tuple(map(PathQuestion, paths)))
    told = ("absent =p0^0^p1^2", "absent =p2^3", "path p3 =absent =0 xc3a9 - xc3a9 -")
    facts = answer(frames((*RECORDS[:2], *told)), request).paths
    assert all(fact.state is State.ABSENT and not fact.hops for fact in facts.values())
    assert [(f.absolute, f.at) for f in list(facts.values())[:3]] == [
        ("/home/me", "/home/me"),
        ("/home/me/a/b", "/home/me/a"),
        ("/c/d/", "/c"),
    ]


@pytest.mark.parametrize(
    "told",
    [
        ("absent =p0",),
        ("absent =p0^",),
        ("absent =p0^x",),
        ("absent =p0^-1",),
        ("absent =p0^1",),
        ("absent =p0^3",),
        ("absent =p0^4",),
        ("absent =p0^99",),
        ("absent =p0^0^p0^0",),
        ("absent =p0^0^p7^0",),
        ("absent =l0.0.file^0",),
        ("absent =p0^0", "absent =p0^0"),
        ("absent =p0^0", "path p0 =absent =0 =/a/b - =/a -"),
    ],
)
def test_no_path_is_absent_but_as_agreed(told: tuple[str, ...]) -> None:
    request = Request(NONCE, paths=(PathQuestion("/a/b"),))
    assert answer(frames((*RECORDS[:2], "absent =p0^2")), request).paths["/a/b"].at == "/a"
    refused(frames((*RECORDS[:2], *told)), request)


def test_content_that_is_not_what_its_hash_says_is_told_honestly() -> None:
    body = base64.b64encode(b"other").decode()
    fact = answer(changed("data", f"data ={SHA} b{body}"), WHOLE).paths["/f"]
    assert (fact.state, fact.sha256, fact.at) == (State.UNREADABLE, None, "/f")
    assert fact.why == "it changed while it was read"
    gone = answer(changed("data", ""), WHOLE).paths["/f"]
    assert gone.state is State.UNREADABLE


def test_contents_that_were_sent_together_are_told_apart_by_their_sizes() -> None:
    together = f"data ={OTHER}^{SHA} b{base64.b64encode(b'morecontent' + bytes([10])).decode()}"
    facts = answer(changed("data", f"{together} =4^8"), WHOLE)
    assert facts.content(facts.paths["/f"]) == b"content\n"
    fact = answer(changed("data", f"{together} =5^8"), WHOLE).paths["/f"]
    assert (fact.state, fact.why) == (State.UNREADABLE, "it changed while it was read")


@pytest.mark.parametrize("begun", ["b!", "bY29udGVu!", "b!b!"])
def test_contents_that_were_begun_anew_are_those_of_the_last_time(begun: str) -> None:
    told = f"data ={SHA} {begun}x{(b'content' + bytes([10])).hex()}"
    facts = answer(changed("data", told), WHOLE)
    assert facts.content(facts.paths["/f"]) == b"content\n"
    refused(changed("data", f"data ={SHA} {begun}"), WHOLE)


def test_content_nobody_asked_for_is_refused() -> None:
    known = replace(WHOLE, known=frozenset({SHA}))
    assert "not to be sent" in refused(good(), known).what


def test_escapes_in_what_a_target_says_of_itself() -> None:
    unfit = frame(1, "begin =fleet.answer/1") + frame(2, "unfit x1b5b33316d6e6f")
    assert refused(unfit).what == "it cannot be asked: \\x1b[31mno"


def test_lines_of_text_are_put_together_by_a_character() -> None:
    two = "2:^docker0^^^^inet^172.17.0.1/16^brd|3:^eth0^^^^inet^10.0.0.2/8^brd"
    facts = answer(changed("interfaces", f"interfaces =ip l|{two}"), WHOLE)
    assert facts.interfaces == {"docker0": ("172.17.0.1",), "eth0": ("10.0.0.2",)}


def test_parts_that_could_not_be_seen() -> None:
    facts = answer(changed("listeners", "unseen =listeners =no^netstat"), WHOLE)
    assert facts.listeners is None
    assert facts.unseen == {"listeners": "no netstat"}
    hidden = tuple(r for r in RECORDS if not r.startswith(("process r0", "flag", "secret")))
    facts = answer(frames((*hidden, "unseen =processes =hidden")), WHOLE)
    assert facts.processes == {}
    assert facts.unseen == {"processes": "hidden"}


def test_names_that_are_no_utf8_are_escaped() -> None:
    facts = answer(changed("path p0", "path p0 =present =0 =/f x2f66ff - -"), WHOLE)
    assert facts.paths["/f"].final == "/f\\xff"


@pytest.mark.parametrize(
    ("machine", "raw", "address"),
    [
        ("x86_64", "00000000:223D", "0.0.0.0"),
        ("x86_64", "010011AC:223D", "172.17.0.1"),
        ("s390x", "AC110001:223D", "172.17.0.1"),
        ("x86_64", "00000000000000000000000000000000:223D", "::"),
        ("aarch64", "00000000000000000000000001000000:223D", "::1"),
        ("x86_64", "0000000000000000FFFF0000010011AC:223D", "172.17.0.1"),
    ],
)
def test_proc_net_tcp(machine: str, raw: str, address: str) -> None:
    request = Request(NONCE, listeners=True)
    platform = f"platform =Linux ={machine} =box =me =0 =/ =HOME"
    output = frames((RECORDS[0], platform, f"listeners =proc ={raw}"))
    assert answer(output, request).listeners == (Listener(address=address, port=8765),)


def test_netstat_of_bsd() -> None:
    table = "tcp4 127.0.0.1.8765\ntcp46 *.22\ntcp4 *.80\ntcp6 fe80::1%lo0.53"
    packed = base64.b64encode(table.encode()).decode()
    output = frames((*RECORDS[:2], f"listeners =netstat b{packed}"))
    listeners = answer(output, Request(NONCE, listeners=True)).listeners or ()
    assert {(listener.address, listener.port) for listener in listeners} == {
        ("127.0.0.1", 8765),
        ("::", 22),
        ("0.0.0.0", 80),
        ("fe80::1", 53),
    }


IFCONFIGS = {
    "bsd": "lo0: flags=8049<UP> mtu 16384\n\tinet 127.0.0.1 netmask 0xff000000\n"
    "\tinet6 fe80::1%lo0 prefixlen 64 scopeid 0x1\nen0: flags=8863<UP>\n\tether aa:bb\n"
    "\tinet 192.0.2.7 netmask 0xffffff00 broadcast 192.0.2.255\n",
    "busybox": "en0       Link encap:Ethernet  HWaddr 02\n"
    "          inet addr:192.0.2.7  Bcast:192.0.2.255  Mask:255.255.255.0\n\n"
    "lo0       Link encap:Local Loopback\n          inet addr:127.0.0.1  Mask:255.0.0.0\n"
    "          inet6 addr: fe80::1/64 Scope:Link\n",
}


@pytest.mark.parametrize("kind", IFCONFIGS)
def test_ifconfig(kind: str) -> None:
    packed = base64.b64encode(IFCONFIGS[kind].encode()).decode()
    output = frames((*RECORDS[:2], f"interfaces =ifconfig b{packed}"))
    assert answer(output, Request(NONCE, interfaces=True)).interfaces == {
        "lo0": ("127.0.0.1", "fe80::1"),
        "en0": ("192.0.2.7",),
    }


def attempt(output: bytes) -> Facts | None:
    """Parse, or be refused: nothing else may happen."""
    try:
        return parse_answer(
            output, WHOLE, target="box", address="local:", kind="host", taken_at=NOON
        )
    except ProbeError:
        return None


@given(output=st.binary(max_size=400))
def test_any_garbage_is_refused(output: bytes) -> None:
    assert attempt(output) is None


@settings(max_examples=300)
@given(data=st.data())
def test_any_damage_is_refused_or_honest(data: st.DataObject) -> None:
    output = bytearray(good())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(output) - 1))
        junk = data.draw(st.sampled_from(b"|\t|\n|=|x|-|\0|\xff|9".split(b"|")))
        output[at : at + data.draw(st.integers(0, 3))] = junk
    facts = attempt(bytes(output))
    if facts is not None:
        for sha, content in facts.contents.items():
            assert hashlib.sha256(content).hexdigest() == sha


FIELD = st.sampled_from(
    ["-", "=", "=0", "=1", "=present", "=x y", "x00", "xff0", "b", "b/w==", "p0", "l0"]
)
KINDS = sorted({record.split(" ")[0] for record in RECORDS} | {"note", "hop", "entry", "field"})


@settings(max_examples=300)
@given(records=st.lists(st.tuples(st.sampled_from(KINDS), st.lists(FIELD, max_size=8)), max_size=4))
def test_well_framed_nonsense_is_refused(records: list[tuple[str, list[str]]]) -> None:
    more = tuple(" ".join([kind, *fields]) for kind, fields in records)
    assert (attempt(frames(RECORDS + more)) is None) == bool(more)


def test_a_real_answer_cut_or_mixed(dash: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 1000)
    paths = (PathQuestion(str(tmp_path / "f"), Read.WHOLE), PathQuestion(f"{tmp_path}/none"))
    request = Request(NONCE, paths=paths)
    whole = dash.run(probe_script(request)).stdout
    assert b"\tabsent\t" in whole
    assert answer(whole, request).contents
    for length in range(0, len(whole) - 1, 7):
        refused(whole[:length], request)
    other = dash.run(probe_script(Request("another-nonce", paths=request.paths))).stdout
    pairs = zip(whole.split(b"\n"), other.split(b"\n"), strict=True)
    refused(b"\n".join(line for pair in pairs for line in pair), request)
