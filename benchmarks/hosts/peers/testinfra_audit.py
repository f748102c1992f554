"""The checks in testinfra's words; what several tests look at is a fixture, read once."""

import judged
import pytest
from judged import AGENT, ENV, EXTENSION, EXTENSIONS, HELPER


def launched(host, words):
    """Return what a command prints where pi is launched from."""
    return host.run("bash -lc %s", words).stdout.strip()


def text(host, path):
    """Return a file's text; an empty one where there is none."""
    try:
        return host.file(path).content_string
    except RuntimeError:
        return ""


@pytest.fixture(scope="module")
def bridge(host):
    return text(host, EXTENSION)


@pytest.fixture(scope="module")
def names(host):
    return host.check_output("ls -A %s", EXTENSIONS).splitlines()


@pytest.fixture(scope="module")
def settings(host):
    return text(host, f"{AGENT}/settings.json")


@pytest.fixture(scope="module")
def exported(host):
    return judged.exported(launched(host, "env"))


@pytest.fixture(scope="module")
def pis(host):
    return launched(host, "type -ap pi | xargs -n1 readlink -f").splitlines()


@pytest.fixture(scope="module")
def package(host, pis):
    return judged.parsed(text(host, f"{judged.package_of(pis[0])}/package.json"))


@pytest.fixture(scope="module")
def running(host):
    found = [process for process in host.process.filter() if process.comm in judged.PIS]
    return {p.pid: judged.exported(environment(host, p.pid)) for p in found}


def environment(host, pid):
    """Return the environment of a process, a variable a line."""
    return text(host, f"/proc/{pid}/environ").replace("\0", "\n")


def test_placed(host):
    assert host.file(EXTENSION).linked_to == judged.BRIDGE


def test_whole(bridge):
    assert judged.whole(judged.digest(bridge))


@pytest.mark.parametrize("name", judged.WORK["markers"])
def test_marker(bridge, name):
    for text in judged.WORK["markers"][name]:
        assert text in bridge


def test_sync(host, bridge, names):
    other = text(host, f"{EXTENSIONS}/{judged.PEER}") if judged.PEER in names else ""
    assert judged.synced(bridge, other)


def test_seen(host, names, settings):
    hiders = {n: text(host, f"{EXTENSIONS}/{n}") for n in judged.HIDERS if n in names}
    assert judged.seen(names, hiders, settings)


def test_single(host):
    assert not judged.owned([text(host, path) for path in judged.REGISTRATIONS])


def test_fallback(host, bridge, exported):
    assert "MEMPALACE_FEED" in bridge
    assert judged.feeding(exported)
    timers = host.file(judged.TIMERS)
    assert not timers.exists or not [name for name in timers.listdir() if HELPER in name]
    assert HELPER not in host.run("crontab -l").stdout


def test_feed_on(host, exported):
    assert judged.feeding(exported)
    helper = launched(host, f"command -v {HELPER}")
    assert helper
    assert host.file(helper).contains("--prepare")


def test_identity(exported):
    assert judged.identified(exported)


def test_env_file(host):
    assert judged.declared(judged.assigned(text(host, ENV)))


def test_env_mode(host):
    assert host.file(ENV).mode == 0o600


def test_env_loaded(exported):
    assert judged.declared(exported)


def test_pi(pis, package):
    assert judged.maintained(pis, package)


def test_events(package):
    assert judged.settled(package)


def test_node(host, package):
    assert judged.node_suits(launched(host, "node --version"), package)


def test_prereqs(host):
    told = launched(host, "command -v git uv tmux; tmux -V")
    assert judged.equipped(told.splitlines())


def test_settings(host, settings, pis):
    files = {"settings": settings}
    files |= {name: text(host, f"{AGENT}/{name}.json") for name in judged.FILES[1:]}
    folder = f"{judged.package_of(pis[0])}/schemas"
    for name, content in files.items():
        if content:
            assert judged.fits(content, text(host, f"{folder}/{name}.schema.json"))


def test_writable(host):
    assert host.run("test -w %s", AGENT).rc == 0


def test_running(running):
    assert all(map(judged.declared, running.values()))


def test_no_local(host, running):
    for pid, held in running.items():
        if held.get("MEMPALACE_REMOTE_URL"):
            children = host.process.filter(ppid=pid)
            assert not [child for child in children if "mempalace-mcp" in child.args]
