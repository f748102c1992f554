"""Which certificates pi trusts beside the public ones: Node reads them from one file, once."""

import base64
import binascii

from fleet.facts.endpoints import Trouble
from fleet.inventory.model import SecretRef
from fleet.verifier.answers import told
from fleet.verifier.launches import unseen_launch, value
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import missing, way

EXTRA_CA = "NODE_EXTRA_CA_CERTS"
_SEQUENCE = b"\x30"  # how every certificate begins in DER


def client_ca(look: Look) -> Judgement:
    """The declared file of certificates is there, readable, and holds some; the probe uses it too.

    Node passes over a file that it cannot read with a warning nobody sees.
    """
    declared = look.resolved.exports.get(EXTRA_CA)
    if isinstance(declared, SecretRef):
        return not_checked(f"{EXTRA_CA} is declared as a secret; a path is none")
    if not declared:
        return _undeclared(look)
    fact = look.artifact("client-ca")
    if fact is None:
        return failed(
            "is not an absolute path: Node takes it as it is written",
            f"{EXTRA_CA} is {declared}",
            remedy="declare `client_ca` with the whole path",
        )
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.kind != "file":
        return failed("is no file", way(fact))
    if fact.certificates is None:
        return not_checked(fact.why or "its certificates were not read", way(fact))
    count = _count(fact.certificates)
    if not count:
        return failed("holds no certificate in PEM", way(fact))
    number = "one certificate" if count == 1 else f"{count} certificates"
    return passed(f"{number} that pi trusts beside the public ones", way(fact))


def _undeclared(look: Look) -> Judgement:
    """Judge a client without a declared file: it needs one where the palace's is of its own."""
    declared = look.text("palace_ca") and look.text("palace_url").startswith("https:")
    if not declared and not _distrusted(look):
        return not_applicable("no authority beside the public ones is declared")
    launches = look.launches()
    unseen = [unseen_launch(one) for one in launches if one.state != "ok"]
    exported = [one for one in launches if value(one, EXTRA_CA).set]
    if exported:
        paths = [f"{one.launch}: {value(one, EXTRA_CA).value}" for one in exported]
        return Judgement(
            Verdict.NOT_CHECKED,
            f"{EXTRA_CA} is exported and not declared, so its file was not looked at",
            tuple(paths),
            "declare `client_ca` with that path",
        )
    if not declared:
        return not_applicable("no authority beside the public ones is declared")
    if unseen or not launches:
        return not_checked(f"whether pi trusts palace_ca: {(unseen or ['no launch'])[0]}", *unseen)
    return warned(
        f"palace_ca is declared, and pi gets no {EXTRA_CA}",
        "the palace was asked as if pi trusted it; it does only by the machine's own store",
        remedy="declare `client_ca`: where that certificate lies on the target",
    )


def _distrusted(look: Look) -> bool:
    """Tell whether a client's own question ended at a certificate."""
    here = (fact for fact in look.facts.endpoints if fact.place == "target")
    return any(told(fact).trouble is Trouble.TLS for fact in here)


def _count(certificates: str) -> int:
    """Count the certificates of a PEM text that are any."""
    bodies = (
        part.partition("-----END ")[0].partition("-----")[2]
        for part in certificates.split("-----BEGIN ")[1:]
    )
    return sum(map(_is_certificate, bodies))


def _is_certificate(body: str) -> bool:
    try:
        return base64.b64decode("".join(body.split()), validate=True).startswith(_SEQUENCE)
    except binascii.Error:
        return False
