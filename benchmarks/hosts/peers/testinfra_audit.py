"""The checks in testinfra's words."""

import json
import os

import pytest

WORK = json.loads(os.environ["BENCH_WORK"])
EXTENSION = "/root/.pi/agent/extensions/mempalace.ts"
BRIDGE = "/root/mempalace-toolkit/extensions/pi/mempalace.ts"
ENV = "/root/.config/pi/.env"


def launched(host, words):
    """Return what a command prints where pi is launched from."""
    return host.check_output("bash -lc %s", words)


def test_placed(host):
    assert host.file(EXTENSION).linked_to == BRIDGE


@pytest.mark.parametrize("name", WORK["markers"])
def test_marker(host, name):
    for text in WORK["markers"][name]:
        assert host.file(EXTENSION).contains(text.replace(".", r"\."))


def test_env_file(host):
    for name, value in WORK["variables"].items():
        assert host.file(ENV).contains(f"^{name}='{value}'$")


def test_env_mode(host):
    assert host.file(ENV).mode == 0o600


def test_env_loaded(host):
    for name, value in WORK["variables"].items():
        assert launched(host, f"printenv {name}") == value


def test_pi(host):
    words = 'cat "$(dirname "$(readlink -f "$(command -v pi)")")/../../package.json"'
    assert json.loads(launched(host, words))["name"] == "@earendil-works/pi-coding-agent"


def test_node(host):
    version = launched(host, "node --version").lstrip("v").split(".")
    assert [int(part) for part in version[:2]] >= [22, 19]


def test_settings(host):
    json.loads(host.file("/root/.pi/agent/settings.json").content_string)


def test_writable(host):
    assert host.run("test -w /root/.pi/agent").rc == 0
