"""Images for what ``ci/`` builds: a base without a registry, and how to build from it.

The base stands in for ``node:22`` and ``python:3.12``: this machine's own Debian packages and npm,
the node of the installed pi, and the certificates that this machine trusts.
"""

import shlex
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import docker
import yaml
from support.base_image import PACKAGES, closure, essential, import_image
from support.ci import ran
from support.package_database import package_database
from support.places import ROOT
from support.rig import compose_binary
from support.tools import ToolUnavailableError, npm_bin, pi_tool

RUN = uuid.uuid4().hex[:8]
NAME = f"fleet-ci-test-{RUN}"
#: What this machine trusts; kept where no package makes it anew.
AUTHORITIES = "/usr/local/share/authorities.crt"
MORE = ("adduser", "apt", "ca-certificates", "dpkg", "passwd", "python3", "python3-venv", "tmux")
FOLDERS = ("/etc/apt", "/etc/skel", "/usr/share/keyrings")
BASE = f"""FROM {NAME}:raw
ADD packages.tar /
COPY authorities.crt {AUTHORITIES}
COPY node /usr/local/bin/node
COPY node_version.h /usr/local/include/node/node_version.h
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && mkdir -p /etc/default \
 /var/lib/apt/lists/partial /var/cache/apt/archives/partial /var/log/apt
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV NODE_EXTRA_CA_CERTS={AUTHORITIES} PIP_CERT={AUTHORITIES} SSL_CERT_FILE={AUTHORITIES}
ENV npm_config_cafile={AUTHORITIES}
"""
SECONDS = 900


@dataclass(frozen=True)
class Built:
    """What a build came to."""

    code: int
    log: str


def base_image(engine: docker.DockerClient, scratch: Path) -> str:
    """Make the base; returns its tag."""
    packages = [*PACKAGES, *MORE, *essential()]
    import_image(engine, f"{NAME}:raw", scratch, packages=packages, folders=FOLDERS)
    folder = scratch / "base"
    folder.mkdir()
    (folder / "packages.tar").write_bytes(package_database(closure(packages)))
    shutil.copy2("/etc/ssl/certs/ca-certificates.crt", folder / "authorities.crt")
    node = pi_tool().node.resolve()
    shutil.copy2(node, folder / "node")
    header = next(node.parents[1].rglob("include/node/node_version.h"))
    shutil.copy2(header, folder / "node_version.h")
    shutil.copytree(_npm_package(), folder / "npm", symlinks=True)
    (folder / "Dockerfile").write_text(BASE, encoding="utf-8")
    engine.images.build(path=str(folder), tag=f"{NAME}:base", rm=True, forcerm=True)
    return f"{NAME}:base"


def _npm_package() -> Path:
    programs = npm_bin()
    package = (programs / "npm").resolve().parents[1]
    if (package / "bin" / "npm-cli.js").exists():
        return package
    for script in programs.parent.rglob("node_modules/npm/bin/npm-cli.js"):
        return script.parents[1]
    raise ToolUnavailableError(f"no npm package around {programs}")


def built(folder: Path, dockerfile: str, tag: str, **arguments: str) -> Built:
    """Build with BuildKit, by compose: the engine of Debian 12 has no other door to it."""
    build = {"context": str(folder), "dockerfile": dockerfile, "args": arguments}
    project = {"services": {"it": {"image": tag, "build": build}}}
    # Beside the folder: in it, a change would make the engine do all steps again.
    beside = folder.with_name(f"{folder.name}-project")
    beside.mkdir(exist_ok=True)
    (beside / "compose.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
    words = (str(compose_binary()), "-p", NAME, "build", "--progress", "plain", "it")
    code, out, err = ran(shlex.join(words), beside, {}, ("sh", "-c"))
    return Built(code, out + err)


def wheel(folder: Path) -> str:
    """Build the project's wheel into a folder; returns its name."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    ended = subprocess.run(
        build, check=False, capture_output=True, text=True, timeout=SECONDS, cwd=folder
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (made,) = folder.glob("*.whl")
    return made.name
