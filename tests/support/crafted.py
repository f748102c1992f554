"""Crafted runs: what a report must be able to tell, built from few words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from fleet.errors import TargetError, Unreachable
from fleet.facts.model import Facts, Platform
from fleet.inventory.model import Address, Scheme, Target
from fleet.verifier.model import Finding, Severity, Verdict
from fleet.verifier.run import Run, TargetResult

START = datetime(2026, 9, 1, 8, 0, tzinfo=UTC)
BRIDGE = "/opt/mempalace-toolkit/extensions/pi/mempalace.ts"
LINK = "~/.pi/agent/extensions/mempalace.ts"


def finding(
    target: str,
    gate: str,
    verdict: Verdict,
    message: str,
    *,
    system: str = "mempalace-bridge",
    severity: Severity = Severity.MAJOR,
    required: bool = False,
    evidence: tuple[str, ...] = (),
    since: str | None = None,
    remedy: str | None = None,
    follows: str | None = None,
    gives: str = "",
) -> Finding:
    """Craft a finding."""
    return Finding(
        target,
        system,
        gate,
        verdict,
        severity,
        required,
        message,
        evidence,
        since,
        remedy,
        follows,
        (gives,) if gives else (),
    )


def result(
    name: str,
    *findings: Finding,
    address: Address | None = None,
    trouble: TargetError | None = None,
) -> TargetResult:
    """Craft what one target came down to."""
    where = address or Address(Scheme.SSH, name, user="me")
    target = Target(name, where, systems=tuple(dict.fromkeys(f.system for f in findings)))
    facts = Facts(
        target=name,
        address=str(where),
        kind=where.scheme.kind.value,
        taken_at=START,
        nonce="n" * 32,
        platform=Platform(os="Linux", machine="x86_64", user="me", home="/home/me", rule="passwd"),
    )
    return TargetResult(target, None if trouble else facts, findings, trouble, milliseconds=120)


def run(*results: TargetResult, strict: bool = False) -> Run:
    """Craft a run of twelve seconds."""
    return Run(
        "20260901T080000Z-7f3a", "audit", START, START + timedelta(seconds=12), results, strict
    )


def old_bridge(name: str, gate: str, marker: str, since: str, *, required: bool) -> Finding:
    """Craft the finding of a bridge that is too old for a capability."""
    capability = gate.partition(".")[2]
    return finding(
        name,
        gate,
        Verdict.FAIL,
        f"cannot {capability}",
        required=required,
        gives=capability,
        since=since,
        evidence=(
            f"{BRIDGE} (via {LINK})",
            f"is toolkit 1f00aa2 of 2026-08-10, 14 commits behind; {marker} is not in it",
        ),
        remedy="rebuild the image, or install the contrib recipe until then",
    )


def healthy(name: str, *, required: bool = True) -> tuple[Finding, ...]:
    """Craft a target on which all holds."""
    return (
        finding(name, "bridge.placed", Verdict.PASS, "links to the toolkit", required=True),
        finding(name, "bridge.feed", Verdict.PASS, "can feed", required=required, gives="feed"),
        finding(name, "bridge.stamp", Verdict.PASS, "can stamp", gives="stamp"),
        finding(
            name, "env.loaded", Verdict.PASS, "zsh -ic exports 4 of 4", system="env", required=True
        ),
    )


def image(name: str, date: str) -> TargetResult:
    """Craft an image whose bridge is too old to feed."""
    address = Address(Scheme.DOCKER_DAEMON, f"{name}:{date}")
    label = f"{name}:{date}"
    silent = "an image is not running, so no launching shell exports anything"
    return result(
        label,
        finding(label, "bridge.placed", Verdict.PASS, "links to the toolkit", required=True),
        old_bridge(label, "bridge.feed", "MEMPALACE_FEED", "29e660e (2026-08-12)", required=True),
        old_bridge(
            label, "bridge.stamp", "MEMPALACE_PI_DEVICE", "553d865 (2026-08-25)", required=False
        ),
        finding(label, "env.loaded", Verdict.NOT_CHECKED, silent, system="env"),
        finding(label, "env.file", Verdict.NOT_APPLICABLE, "no env file in an image", system="env"),
        address=address,
    )


def unreachable(name: str) -> TargetResult:
    """Craft a host whose key has changed."""
    trouble = Unreachable(
        "the host key is not the one that is known",
        stage="host-key",
        where=name,
        hint=f"if the machine was rebuilt: ssh-keygen -R {name}, then connect once by hand",
    )
    told = "the host key is not the one that is known"
    gates = (("bridge.placed", "mempalace-bridge"), ("env.loaded", "env"))
    found = (
        finding(name, gate, Verdict.UNREACHABLE, told, system=system, required=True)
        for gate, system in gates
    )
    return result(name, *found, trouble=trouble)


def mixed() -> Run:
    """Craft a run with a bit of everything."""
    return run(
        result("laptop", *healthy("laptop")),
        image("pi-devbox", "2026-08-10"),
        image("pi-devbox", "2026-08-11"),
        result("desk", *broken("desk"), *healthy("desk")[3:]),
        unreachable("attic"),
        result(
            "vault",
            finding(
                "vault",
                "serve.bind",
                Verdict.FAIL,
                "listens on every interface",
                system="mempalace-serve",
                severity=Severity.CRITICAL,
                required=True,
                evidence=("0.0.0.0:8765, declared is docker0 (172.17.0.1)",),
                remedy="set the bind address in the compose file and bring the project up again",
            ),
            finding(
                "vault",
                "serve.token",
                Verdict.WAIVED,
                "token stands in argv: accepted until 2026-12-31, host is single-user",
                system="mempalace-serve",
                required=True,
            ),
            finding(
                "vault",
                "serve.stays",
                Verdict.WARN,
                "stops after 8 idle hours",
                system="mempalace-serve",
                severity=Severity.MINOR,
                evidence=("restart policy: no", "MEMPALACE_MCP_IDLE_HOURS is not set"),
                remedy="set MEMPALACE_MCP_IDLE_HOURS=0",
            ),
            finding(
                "vault",
                "serve.health",
                Verdict.ERROR,
                "the answer is not JSON",
                system="mempalace-serve",
                required=True,
                evidence=("GET /statusz: 200, 512 bytes of text/html",),
            ),
        ),
    )


def broken(name: str) -> tuple[Finding, ...]:
    """Craft a dangling link and what follows from it."""
    follows = "what it asks about is not there"
    return (
        finding(
            name,
            "bridge.placed",
            Verdict.FAIL,
            "the link leads nowhere",
            required=True,
            severity=Severity.CRITICAL,
            evidence=(f"{LINK} -> {BRIDGE}", f"absent: {BRIDGE}"),
            remedy="fleet apply --limit desk",
        ),
        *(
            finding(
                name,
                f"bridge.{gives}",
                Verdict.NOT_CHECKED,
                follows,
                required=gives == "feed",
                follows="bridge.placed",
                gives=gives,
            )
            for gives in ("feed", "stamp")
        ),
    )


def hostile() -> Run:
    """Craft a run whose texts try to be markup, colours and other lines."""
    name = "web[bold]\x1b[31m"
    return run(
        result(
            name,
            finding(
                name,
                "bridge.placed",
                Verdict.FAIL,
                "[/red] is [link=file:///etc]here[/link] :warning:",
                required=True,
                evidence=(
                    "~/[dim]/\x1b]0;owned\x07\u202egnp.exe",
                    "one\nPASS   everything   \u2028is fine",
                    "/srv/" + "very-long-folder-name/" * 12 + "mempalace.ts",
                    "日本語の長い道" * 20,
                ),
                remedy="rm '[red]x'",
            ),
        )
    )


def crowd() -> Run:
    """Craft 300 targets: one cause on most of them, a few of their own."""
    results = []
    for number in range(300):
        name = f"web-{number:03}.eu-central.example.net"
        if number % 50 == 7:
            results.append(unreachable(name))
        elif number % 3:
            results.append(
                result(
                    name,
                    *healthy(name, required=False)[:1],
                    old_bridge(
                        name, "bridge.feed", "MEMPALACE_FEED", "29e660e (2026-08-12)", required=True
                    ),
                )
            )
        else:
            results.append(result(name, *healthy(name)))
    return run(*results)


def wide() -> Run:
    """Craft many systems and capabilities with long names."""
    systems = ("mempalace-bridge", "mempalace-serve", "env", "pi-toolkit", "opencode", "pi-mnemo")
    gives = ("feed", "stamp", "mailbox", "notify", "remote", "stall", "heal", "schema", "version")
    names = ("workstation-of-the-second-floor.lab.example.net", "laptop")
    many = [f"capability-number-{n}" for n in range(24)]
    return run(
        *(
            result(
                name,
                *(
                    finding(name, f"{s}.placed", Verdict.PASS, "there", system=s, required=True)
                    for s in systems
                ),
                *(
                    finding(name, f"bridge.{g}", Verdict.FAIL, f"cannot {g}", gives=g)
                    for g in (*gives, *many)
                ),
            )
            for name in names
        )
    )


RUNS: dict[str, Callable[[], Run]] = {
    "mixed": mixed,
    "hostile": hostile,
    "crowd": crowd,
    "wide": wide,
    "healthy": lambda: run(result("laptop", *healthy("laptop"))),
    "nothing": run,
    "silent": lambda: run(unreachable("attic")),
    "image": lambda: run(image("pi-devbox", "2026-08-10")),
}


def craft(name: str) -> Run:
    """Craft one of the runs by name."""
    return RUNS[name]()
