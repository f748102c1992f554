"""A palace whose certificate is of its own authority, asked as its client asks (E08)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.homes import VARIABLE, Homes
from support.images import PASSWD, as_layout
from support.mcp_server import ScriptedMcpServer, self_signed
from support.places import CASES

from fleet.demo.layout import BakedImage, Member, layer


@pytest.fixture
def palace(tmp_path: Path) -> Iterator[ScriptedMcpServer]:
    (tmp_path / "tls").mkdir()
    behaviour = CASES / "E08" / "behaviour.json"
    with ScriptedMcpServer.from_file(behaviour, tls=self_signed(tmp_path / "tls")) as server:
        yield server


@pytest.fixture
def own(homes: Homes, palace: ScriptedMcpServer, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """Homes whose palace is the one with a certificate of its own."""
    monkeypatch.setenv(VARIABLE, "tok-EXAMPLE-good")
    lines = homes.inventory.read_text().splitlines()
    changed = [f"  palace_url: {palace.url}" if "palace_url:" in line else line for line in lines]
    homes.inventory.write_text("\n".join(changed) + "\n")
    return homes


def declare(homes: Homes, **variables: object) -> None:
    said = "".join(f"  {name}: {value}\n" for name, value in variables.items())
    homes.inventory.write_text(homes.inventory.read_text().replace("vars:\n", f"vars:\n{said}", 1))


def heard(homes: Homes) -> dict[str, str]:
    """Provision one home, audit it, and return what the gates of the flip say there."""
    homes.run("provision", "--yes", "--limit", "one")
    _, found = homes.audit("--limit", "one")
    told = {gate: f for (_, gate), f in found.items() if gate.startswith("flip.")}
    return {gate: f"{f['verdict']}: {f['message']} {f['evidence']}" for gate, f in told.items()}


def test_without_the_authority_the_certificate_is_not_trusted(own: Homes) -> None:
    found = heard(own)
    assert found["flip.path"].startswith("fail")
    assert "tls: certificate not trusted" in found["flip.symptom"]


def test_the_file_that_the_client_names_is_the_one_that_is_trusted(
    own: Homes, tmp_path: Path
) -> None:
    there = own.home("one") / "own-ca.pem"
    there.write_bytes((tmp_path / "tls/cert.pem").read_bytes())
    declare(own, client_ca=there)
    found = heard(own)
    assert found["flip.ca"].startswith("pass: one certificate")
    assert found["flip.symptom"].startswith("pass")


def test_the_file_is_brought_with_its_certificates_alone(own: Homes, tmp_path: Path) -> None:
    there = own.home("one") / ".config/own-ca.pem"
    declare(own, client_ca=there, client_ca_source="tls/both.pem")
    certificate, key = tmp_path / "tls/cert.pem", tmp_path / "tls/key.pem"
    both = tmp_path / "tls/both.pem"

    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    code, _ = own.run("plan", "--limit", "one")
    assert code != 0
    assert "holds a private key" in own.printed[-1]
    assert not there.exists()
    both.write_text("nothing\n")
    own.run("plan", "--limit", "one")
    assert "holds no certificate in PEM" in own.printed[-1]

    both.write_bytes(certificate.read_bytes())
    found = heard(own)
    assert there.read_bytes() == certificate.read_bytes()
    assert found["flip.ca"].startswith("pass: one certificate")
    assert found["flip.symptom"].startswith("pass")
    code, text = own.run("plan", "--limit", "one")
    assert (code, "nothing to change" in text) == (0, True), text
    own.run("uninstall", "--limit", "one", "--yes")
    assert not there.exists()


def test_what_lies_there_is_somebodys_own_and_a_key_beside_it_is_not_shown(
    own: Homes, tmp_path: Path
) -> None:
    there = own.home("one") / "own-ca.pem"
    key = (tmp_path / "tls/key.pem").read_text()
    there.write_text(key)
    declare(own, client_ca=there, client_ca_source="tls/cert.pem")
    own.run("plan", "--limit", "one")
    assert "--adopt" in own.printed[-1]
    code, _ = own.run("fix", "flip.ca", "--limit", "one", "--yes", "--adopt")
    assert code == 0, own.printed[-1]
    assert key.splitlines()[1] not in "".join(own.printed)
    assert there.read_bytes() == (tmp_path / "tls/cert.pem").read_bytes()


def test_a_file_that_is_not_there_fails_by_its_name(own: Homes, tmp_path: Path) -> None:
    # The controller's own copy does not count for the client.
    declare(own, client_ca="/nowhere/own-ca.pem", palace_ca=tmp_path / "tls/cert.pem")
    found = heard(own)
    assert found["flip.ca"].startswith("fail: is not there")
    assert "/nowhere/own-ca.pem" in found["flip.ca"]
    assert found["flip.path"].startswith("not-checked: follows from flip.ca")


def test_another_authority_is_not_enough(own: Homes, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other, _ = self_signed(tmp_path / "other")
    declare(own, client_ca=other, palace_ca=tmp_path / "tls/cert.pem")
    found = heard(own)
    assert found["flip.ca"].startswith("pass")
    assert "tls: certificate not trusted" in found["flip.symptom"]


def test_the_palace_s_authority_lies_beside_the_inventory(
    own: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(own, palace_ca="tls/cert.pem")
    monkeypatch.chdir("/")
    found = heard(own)
    assert found["flip.ca"].startswith("warn: palace_ca is declared")
    assert found["flip.symptom"].startswith("pass")


@pytest.mark.parametrize("there", [True, False])
def test_an_image_is_looked_into(homes: Homes, tmp_path: Path, there: bool) -> None:
    certificate, _ = self_signed(tmp_path)
    files = [PASSWD, *([Member("etc/own-ca.pem", certificate.read_bytes())] if there else [])]
    baked = BakedImage([layer(files)], tag="box:1", config={"User": "node"})
    as_layout(tmp_path / "layout", [baked])
    homes.inventory.write_text(
        "vars: {client_ca: /etc/own-ca.pem}\n"
        f"images: {{box: {{image: 'oci:{tmp_path}/layout:box:1', systems: [mempalace-bridge]}}}}\n"
    )
    _, found = homes.audit()
    told = found["box", "flip.ca"]
    assert told["verdict"] == ("pass" if there else "fail")
    assert there or "/etc/own-ca.pem does not exist" in str(told["evidence"])
