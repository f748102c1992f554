"""Comparing what an environment holds with what is declared, without anyone's secret."""

from fleet.dataclass import dataclass
from fleet.facts.running import EnvValue
from fleet.inventory.model import SecretRef, Value
from fleet.verifier.look import Expected, Look


@dataclass(frozen=True, slots=True)
class Difference:
    """Something about one variable, in words that hold no secret.

    Attributes:
        unseen: it could not be compared; else it is wrong.
    """

    name: str
    what: str
    unseen: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.what}"


def compare(look: Look, name: str, declared: Value, actual: EnvValue) -> Difference | None:
    """Compare one variable with its declared value; None when they are equal."""
    if not actual.set:
        return Difference(name, "is not set")
    if isinstance(declared, SecretRef):
        return _secret(look, name, declared, actual)
    return compare_text(name, str(declared), actual, look.facts.nonce)


def compare_text(name: str, wanted: str, actual: EnvValue, nonce: str) -> Difference | None:
    """Compare a variable that is set with a text; None when they are equal."""
    if actual.value is not None:
        if actual.value == wanted:
            return None
        return Difference(name, f"is {actual.value!r}, declared is {wanted!r}")
    return compare_digest(name, Expected.of(nonce, wanted), actual)


def compare_values(name: str, wanted: EnvValue, actual: EnvValue, nonce: str) -> Difference | None:
    """Compare a variable that is set with what another fact of the same nonce tells of it."""
    if wanted.value is not None:
        return compare_text(name, wanted.value, actual, nonce)
    if wanted.digest is None:
        return Difference(name, "is set; what it should be is not told", unseen=True)
    if actual.value is not None:
        actual = EnvValue(
            set=True, length=actual.length, digest=Expected.of(nonce, actual.value).digest
        )
    return compare_digest(name, Expected(wanted.digest, wanted.length), actual)


def _secret(look: Look, name: str, declared: SecretRef, actual: EnvValue) -> Difference | None:
    trouble = look.troubles.get(declared)
    if trouble:
        return Difference(
            name, f"is set; what it should be is not known here: {trouble}", unseen=True
        )
    expected = look.expected.get(declared)
    if expected is None:
        return Difference(name, "is set; what it should be was not fetched", unseen=True)
    return compare_digest(name, expected, actual)


def compare_digest(name: str, expected: Expected, actual: EnvValue) -> Difference | None:
    """Compare a variable that is set with a value known by its digest; None when equal."""
    if actual.digest is None:
        return Difference(name, "is set; its value could not be compared", unseen=True)
    if actual.digest == expected.digest:
        return None
    if not actual.length:
        return Difference(name, "is set but empty")
    lengths = f" ({actual.length} characters, declared has {expected.length})"
    return Difference(
        name, f"is not the declared value{lengths if actual.length != expected.length else ''}"
    )
