"""Versions that files tell of programs that are not run."""

from dataclasses import replace

import pytest
from support.trees import DictTree

from fleet.facts.installed import Installed, files_read, installed, with_versions
from fleet.facts.paths import PathFact, State
from fleet.facts.request import CommandQuestion
from fleet.facts.running import CommandFact

HEADER = b"""#ifndef SRC_NODE_VERSION_H_
#define NODE_MAJOR_VERSION 22
#define NODE_MINOR_VERSION 19
#define NODE_PATCH_VERSION 1
#define NODE_VERSION_IS_LTS 1
"""
STATUS = b"""Package: nodejs-doc
Status: install ok installed
Version: 9.9.9

Package: nodejs
Status: install ok installed
Architecture: amd64
Version: 1:20.19.2+dfsg-1+deb13u1
Description: evented I/O
 Package: nodejs

Package: tmux
Status: deinstall ok config-files
Version: 3.5a-3
"""
APK = b"""P:musl
V:1.2.5-r0
F:lib
R:ld-musl-x86_64.so.1

P:nodejs
V:22.16.0-r2
F:usr/share
R:node
F:usr/bin
R:node
"""
DPKG = {
    "/var/lib/dpkg/status": STATUS,
    "/var/lib/dpkg/info/nodejs.list": b"/.\n/usr/bin/node\n",
    "/var/lib/dpkg/info/tmux.list": b"/usr/bin/tmux\n",
}
NODE = CommandQuestion(
    "node", version="--version", headers=("../include/node/node_version.h",), package="nodejs"
)


def told(tree: DictTree, program: str = "/usr/bin/node") -> Installed | None:
    return installed(tree, program, NODE.headers, NODE.package)


def test_a_header_of_the_same_distribution() -> None:
    tree = DictTree({"/opt/node/include/node/node_version.h": HEADER, **DPKG})
    found = told(tree, "/opt/node/bin/node")
    assert found == ("22.19.1", "/opt/node/include/node/node_version.h")


def test_a_package_of_debian_that_owns_the_file() -> None:
    assert told(DictTree(DPKG)) == ("20.19.2", "/var/lib/dpkg/status")
    listed = DPKG["/var/lib/dpkg/info/nodejs.list"]
    named = {"/var/lib/dpkg/status": STATUS, "/var/lib/dpkg/info/nodejs:amd64.list": listed}
    assert told(DictTree(named)) == ("20.19.2", "/var/lib/dpkg/status")


def test_a_package_of_alpine_that_owns_the_file() -> None:
    assert told(DictTree({"/lib/apk/db/installed": APK})) == ("22.16.0", "/lib/apk/db/installed")


@pytest.mark.parametrize(
    "tree",
    [
        DictTree({}),
        DictTree({"/usr/include/node/node_version.h": b"#define NODE_MAJOR_VERSION 22\n"}),
        DictTree({**DPKG, "/var/lib/dpkg/info/nodejs.list": b"/usr/bin/nodejs\n"}),
        DictTree({"/lib/apk/db/installed": APK.replace(b"usr/bin", b"usr/lib")}),
        DictTree(DPKG, hidden=("/var/lib/dpkg/status",)),
    ],
    ids=["nothing", "half a header", "another file", "another folder", "unreadable"],
)
def test_what_no_file_tells(tree: DictTree) -> None:
    assert told(tree) is None


def test_a_package_that_was_removed_tells_nothing() -> None:
    assert installed(DictTree(DPKG), "/usr/bin/tmux", (), "tmux") is None


def test_only_what_was_asked_for_and_not_told_is_looked_up() -> None:
    file = PathFact(
        path="/usr/bin/node", absolute="/usr/bin/node", final="/usr/bin/node", state=State.PRESENT
    )
    there = {"node": CommandFact(name="node", file=file)}
    tree = DictTree(DPKG)
    found = with_versions(tree, [NODE], there)["node"]
    assert (found.version, found.told_by) == ("20.19.2", "/var/lib/dpkg/status")
    assert with_versions(tree, [replace(NODE, version="")], there) == there
    assert with_versions(tree, [NODE], {"node": CommandFact(name="node")})["node"].version is None
    ran = {"node": CommandFact(name="node", file=file, version="v1.2.3")}
    assert with_versions(tree, [NODE], ran) == ran


def test_the_files_that_will_be_read_are_known_beforehand() -> None:
    assert files_read([NODE]) == {"node_version.h", "nodejs.list", "status", "installed"}
    assert files_read([CommandQuestion("git")]) == frozenset()
