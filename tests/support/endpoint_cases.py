"""What each case of an endpoint (E00 to E14) is to be told as, whichever server it is met on."""

from collections.abc import Mapping
from dataclasses import dataclass

from support.places import CASES


@dataclass(frozen=True, slots=True)
class Told:
    """What an audit has to say of a case.

    Attributes:
        verdicts: by the gate's last word.
        words: what stands in the evidence of each gate that does not pass.
        remedy: what stands in their remedies.
    """

    verdicts: Mapping[str, str]
    words: str = ""
    remedy: str = ""

    def check(self, found: Mapping[str, Mapping[str, object]]) -> None:
        """Hold what was found against it; findings by the gate's last word."""
        got = {gate: found[gate]["verdict"] for gate in self.verdicts}
        assert got == self.verdicts, [found[gate] for gate in self.verdicts]
        for gate in [g for g, verdict in self.verdicts.items() if verdict in ("fail", "warn")]:
            assert self.words in str(found[gate]["evidence"]), found[gate]
            assert self.remedy in str(found[gate]["remedy"]), found[gate]


WELL = Told(dict.fromkeys(("reach", "auth", "version", "health"), "pass"))

#: By the case's name and, where it has several, which of them.
TOLD: dict[str, Told] = {
    "E00": WELL,
    "E04": WELL,
    "E05": WELL,
    "E07": Told({"health": "fail"}, "silent: headers came, but no data within", "buffering off"),
    "E07 late": WELL,
    "E08": Told({"health": "fail"}, "tls: certificate not trusted", "palace_ca"),
    "E08 declared": WELL,
    "E12": Told({"stays": "warn", "compose-lint": "warn"}, "8 idle hours"),
    "E12 kept": Told({"stays": "pass", "compose-lint": "pass"}),
    "E13": Told({"routes": "warn"}, "/logstream/stream: blocked on the way", "let the proxy pass"),
    "E13 absent": Told({"routes": "pass"}),
    "E14": Told({"health": "fail"}, "HTTP 421 for Host ", "with its port"),
    "E14 known": Told(dict.fromkeys(("reach", "version", "health"), "pass")),
}


def known_cases() -> set[str]:
    """Return the names of the cases that lie beside the tests."""
    return {folder.name for folder in CASES.glob("E*")}
