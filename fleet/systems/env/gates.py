"""What YAML cannot say about the environment: what each reader and each launch makes of it."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from fleet.facts.dotenv import Dialect, Reading, interpret
from fleet.facts.paths import PathFact
from fleet.facts.request import CONTAINER
from fleet.facts.running import ContainerFact, LaunchFact
from fleet.inventory.model import Kind, SecretRef, Value
from fleet.verifier.exports import Difference, compare
from fleet.verifier.launches import Unseen, over_launches, text, unseen_launch, value
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import missing, way

URL = "MEMPALACE_REMOTE_URL"
OWNER_ONLY = 0o600


def file(look: Look) -> Judgement:
    """The file gives its own reader every declared variable with the declared value."""
    fact = look.artifact("file")
    if fact is None or not look.resolved.exports:
        return not_applicable("no environment file is declared here")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.env is None:
        return not_checked(fact.why or "its content was not read", way(fact))
    if fact.env.encrypted:
        return failed(
            "encrypted, not unlocked",
            way(fact),
            f"{fact.env.encrypted} has locked it",
            remedy="unlock the repository it comes from (git-crypt unlock), and deploy again",
        )
    if fact.env.binary:
        return failed("is no text file", way(fact))
    reader = look.text("env_reader")
    if reader not in list(Dialect):
        known = ", ".join(Dialect)
        return not_checked(f"env_reader is {reader!r}; it would be one of {known}", way(fact))
    return _read(look, fact, Dialect(reader), interpret(fact.env, Dialect(reader)))


def _read(look: Look, fact: PathFact, dialect: Dialect, reading: Reading) -> Judgement:
    differences = _differences(look, reading)
    wrong = [str(problem) for problem in reading.problems if problem.fatal]
    wrong += [str(d) for d in differences if not d.unseen]
    unseen = [str(d) for d in differences if d.unseen]
    told = f"as {_READERS[dialect]} reads it"
    if wrong:
        return failed(f"does not give every declared variable, {told}", way(fact), *wrong)
    if unseen:
        return not_checked(f"not every value could be compared: {unseen[0]}", *unseen)
    count = len(look.resolved.exports)
    return passed(f"gives all {count} declared variables, {told}", way(fact))


def _differences(look: Look, reading: Reading) -> list[Difference]:
    """Compare what a reader gets from the file with what is declared."""
    found: list[Difference] = []
    for name, declared in look.resolved.exports.items():
        entry = reading.entries.get(name)
        if entry is None:
            found.append(Difference(name, "is not in it"))
        elif entry.unknown:
            found.append(Difference(name, f"cannot be compared: {entry.unknown}", unseen=True))
        else:
            difference = compare(look, name, declared, entry.value)
            found += [difference] if difference else []
    return found


_READERS = {
    Dialect.SH: "a shell",
    Dialect.DOCKER: "docker --env-file",
    Dialect.COMPOSE: "compose",
}


def mode(look: Look) -> Judgement:
    """A file that holds secrets is its owner's alone."""
    fact = look.artifact("file")
    if fact is None or not look.resolved.exports:
        return not_applicable("no environment file is declared here")
    if missing(fact):
        return follows_from("env.file")
    if fact.mode is None:
        return not_checked("its mode could not be read", way(fact))
    if not any(isinstance(v, SecretRef) for v in look.resolved.exports.values()):
        return not_applicable("it holds no secret")
    if fact.mode & 0o077:
        return failed(f"mode {fact.mode:04o}, want 0600", way(fact), "it may have been read")
    return passed(f"mode {fact.mode:04o}", way(fact))


def loaded(look: Look) -> Judgement:
    """Every declared launch exports every declared variable with the declared value."""
    exports = look.resolved.exports
    if not exports:
        return not_applicable("no variable is declared to be exported")
    judgement = over_launches(
        look,
        lambda launch: _lacking(look, launch),
        good=f"exports all {len(exports)} declared variables",
        bad="pi is launched without the declared environment",
    )
    if judgement.verdict is not Verdict.FAIL:
        return judgement
    if look.target.kind is Kind.CONTAINER:
        return follows_from("env.container") if _told_by_creation(look) else judgement
    return follows_from("env.file") if _told_by_file(look) else judgement


def _lacking(look: Look, launch: LaunchFact) -> list[str]:
    return [
        Unseen(str(difference)) if difference.unseen else str(difference)
        for difference in _exported_otherwise(look, launch)
    ]


def _exported_otherwise(look: Look, launch: LaunchFact) -> list[Difference]:
    return [
        difference
        for name, declared in look.resolved.exports.items()
        if (difference := _exported(look, launch, name, declared))
    ]


def _exported(look: Look, launch: LaunchFact, name: str, declared: Value) -> Difference | None:
    if name not in launch.variables:  # saved facts may be older than the inventory
        return Difference(name, "was not asked for when these facts were taken", unseen=True)
    return compare(look, name, declared, value(launch, name))


def _told_by_file(look: Look) -> bool:
    """Whether the file explains it all: each launch differs in nothing but what the file has wrong.

    A file that is not there explains nothing: what it would give may come from elsewhere.
    """
    fact = look.artifact("file")
    reader = look.text("env_reader")
    if fact is None or fact.env is None or reader not in list(Dialect):
        return False
    differences = _differences(look, interpret(fact.env, Dialect(reader)))
    in_file = {d.name for d in differences if not d.unseen}
    seen = [launch for launch in look.launches() if launch.state == "ok"]
    wrong = {d.name for launch in seen for d in _exported_otherwise(look, launch) if not d.unseen}
    return bool(wrong) and wrong <= in_file


def container(look: Look) -> Judgement:
    """What a container was created with has every declared variable; no file is asked."""
    exports = look.resolved.exports
    if not exports:
        return not_applicable("no variable is declared to be exported")
    fact = look.facts.container
    if fact is None:
        return not_checked("what the container was created with could not be seen")
    differences = _created_with(look, fact)
    wrong = [str(d) for d in differences if not d.unseen]
    created = f"it was created on {fact.created}, before the change" if fact.created else ""
    if wrong and _launches_set_it(look):
        return not_applicable("the ways of launching pi there set their environment themselves")
    if wrong:
        told = [created] if created else []
        return failed("created without the declared environment", *wrong, *told)
    unseen = [str(d) for d in differences]
    if unseen:
        return not_checked(f"not every value could be compared: {unseen[0]}", *unseen)
    return passed(f"created with all {len(exports)} declared variables")


def _created_with(look: Look, fact: ContainerFact) -> list[Difference]:
    found: list[Difference] = []
    for name, declared in look.resolved.exports.items():
        held = fact.variables.get(name)
        if held is None:  # saved facts may be older than the inventory
            what = "was not asked for when these facts were taken"
            found.append(Difference(name, what, unseen=True))
            continue
        difference = compare(look, name, declared, held)
        found += [difference] if difference else []
    return found


def _launches_set_it(look: Look) -> bool:
    """Whether shells are declared that export everything, whatever the container was given."""
    launches = look.launches()
    return bool(launches) and all(
        one.launch != CONTAINER and one.state == "ok" and not _exported_otherwise(look, one)
        for one in launches
    )


def _told_by_creation(look: Look) -> bool:
    """Whether what it was created with explains all that each launch has wrong."""
    fact = look.facts.container
    if fact is None:
        return False
    created = {d.name for d in _created_with(look, fact) if not d.unseen}
    seen = [launch for launch in look.launches() if launch.state == "ok"]
    wrong = {d.name for launch in seen for d in _exported_otherwise(look, launch) if not d.unseen}
    return bool(wrong) and wrong <= created


def url(look: Look) -> Judgement:
    """The palace's URL, as declared and as every launch exports it."""
    urls = {text(launch, URL): launch.launch for launch in look.launches() if launch.state == "ok"}
    declared = str(look.resolved.exports.get(URL) or "")
    urls.setdefault(declared, "declared")
    urls.pop("", None)
    if not urls:
        return not_applicable("a solitary palace: no remote one is declared")
    wrong = [f"{where}: {told}" for url, where in urls.items() for told in _faults(look, url)]
    if wrong:
        return failed("is not a URL that a client can use safely", *wrong)
    unseen = [unseen_launch(one) for one in look.launches() if one.state != "ok"]
    if unseen or not look.launches():
        told = unseen[0] if unseen else "no way of launching pi is declared"
        return not_checked(f"what is exported could not be seen: {told}", *unseen)
    return passed("complete, clean, and safe to use", *urls)


def _faults(look: Look, url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        return [f"is no URL ({error})"]
    if parts.scheme not in ("http", "https") or not host:
        return ["is no http or https URL"]
    return [*_form(parts), *_clear(look, parts.scheme, host)]


def _form(parts: SplitResult) -> list[str]:
    told = []
    if parts.username or parts.password:
        told.append("holds credentials, which end up in logs; use MEMPALACE_REMOTE_TOKEN")
    if parts.path.endswith("/"):
        told.append("ends with a slash: the server answers 404 there")
    if not parts.path.rstrip("/").endswith("/mcp"):
        told.append(f"its path is {parts.path or '/'!r}; the full path with /mcp is needed")
    return told


def _clear(look: Look, scheme: str, host: str) -> list[str]:
    if scheme == "https" or _private(look, host):
        return []
    return [f"plain http to {host} sends the token in clear; use https"]


def _private(look: Look, host: str) -> bool:
    """Loopback, docker0's address there, the engine's host alias, or declared."""
    if host in ("localhost", "host.docker.internal"):
        return True
    declared = [part.strip() for part in look.text("private_hosts").split(",") if part.strip()]
    if host in declared:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or _bridge(look, host) or any(_within(address, d) for d in declared)


def _bridge(look: Look, host: str) -> bool:
    """Whether it is docker0's: looked up where it can be, else the default bridge network."""
    interfaces = look.facts.interfaces
    if interfaces and "docker0" in interfaces:
        return host in interfaces["docker0"]
    return ipaddress.ip_address(host) in ipaddress.ip_network("172.17.0.0/16")


def _within(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
