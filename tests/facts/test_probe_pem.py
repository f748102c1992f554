"""Of a PEM file its certificates travel, and a key beside them does not."""

import base64
from contextlib import closing
from pathlib import Path

import pytest
from support.mcp_server import self_signed
from support.probing import NONCE, Shell

from fleet.connectors.image_rootfs import RootTree
from fleet.facts.compile import probe_script
from fleet.facts.paths import PathFact, State
from fleet.facts.pem import certificates_in
from fleet.facts.request import PathQuestion, Read, Request
from fleet.facts.tree import TreeReader

BODY = "MIIBszCCAVmgAwIBAgIUc2VjcmV0\nMIIBszCCAVmgAwIBAgIUc2VjcmV0\n"
ONE = f"-----BEGIN CERTIFICATE-----\n{BODY}-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\ndG9rLUVYQU1QTEUtY2FuYXJ5\n-----END PRIVATE KEY-----\n"
CANARY = "dG9rLUVYQU1QTEUtY2FuYXJ5"
CASES = {
    "one": (ONE, 1),
    "two, and words between them": (f"# mine\n{ONE}subject: me\n{ONE}", 2),
    "a key before": (KEY + ONE, 1),
    "a key after": (ONE + KEY, 1),
    "of the old names": (ONE.replace("CERTIFICATE", "X509 CERTIFICATE"), 1),
    "lines of windows": (ONE.replace("\n", "\r\n"), 1),
    "no line feed at its end": (ONE.strip(), 1),
    "cut, and then a key": (f"-----BEGIN CERTIFICATE-----\n{BODY}{KEY}", 0),
    "a request": (ONE.replace("CERTIFICATE", "CERTIFICATE REQUEST"), 0),
    "only a key": (KEY, 0),
    "words": ("nothing of the kind", 0),
    "empty": ("", 0),
}


def fact_here(folder: Path, name: str) -> PathFact:
    with closing(RootTree(folder, "rootfs")) as tree:
        reader = TreeReader(tree, NONCE, "/")
        return reader.paths([PathQuestion(f"/{name}", Read.PEM)])[f"/{name}"]


@pytest.mark.parametrize("name", CASES)
def test_the_probe_and_the_reader_tell_the_certificates_and_no_more(
    shell: Shell, tmp_path: Path, name: str
) -> None:
    text, number = CASES[name]
    path = tmp_path / "ca.pem"
    path.write_bytes(text.encode())
    question = PathQuestion(str(path), Read.PEM)
    done = shell.facts(Request(NONCE, paths=(question,)))
    fact = done.paths[str(path)]
    assert fact.certificates == certificates_in(text.encode())
    assert (fact.certificates or "").count("-----BEGIN") == number
    assert CANARY not in done.model_dump_json()
    assert done.contents == {}
    assert fact.sha256 is not None


def test_a_key_s_lines_never_leave_the_target(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(f"-----BEGIN CERTIFICATE-----\n{BODY}{KEY}{ONE}{KEY}")
    request = Request(NONCE, paths=(PathQuestion(str(path), Read.PEM),))
    sent = shell.run(probe_script(request)).stdout
    packed = [field for field in sent.replace(b"\n", b"\t").split(b"\t") if field[:1] in b"bx"]
    opened = b"".join(map(_opened, packed))
    assert b"BEGIN CERTIFICATE" in opened
    assert CANARY.encode() not in opened


def _opened(field: bytes) -> bytes:
    if field[:1] == b"x":
        return bytes.fromhex(field[1:].decode())
    try:
        return base64.b64decode(field[1:])
    except ValueError:
        return b""


def test_a_real_certificate_comes_whole(shell: Shell, tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path)
    fact = shell.path_fact(certificate, Read.PEM)
    assert (fact.certificates or "").split() == certificate.read_text().split()


def test_an_image_is_read_by_the_same_rule(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(KEY + ONE)
    fact = fact_here(tmp_path, "ca.pem")
    assert fact.certificates == ONE
    assert fact_here(tmp_path, "other.pem").state is State.ABSENT
