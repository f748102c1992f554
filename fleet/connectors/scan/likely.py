"""Which files of an image may be expected to hold credentials, told by their paths alone.

Libraries that were installed are left out: what others have published holds nobody's secrets here,
and their tests hold keys by the dozen.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

KIBI = 1024
NAMED_LIMIT = 256 * KIBI
NEAR_LIMIT = 64 * KIBI

_NAMES = frozenset(
    {
        ".netrc",
        "_netrc",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pypirc",
        "pip.conf",
        ".git-credentials",
        ".gitconfig",
        ".pgpass",
        ".my.cnf",
        ".dockercfg",
        ".dockerconfigjson",
        ".boto",
        ".s3cfg",
        ".vault-token",
        ".envrc",
        "credentials",
        "credentials.json",
        "application_default_credentials.json",
        "service-account.json",
        "auth.json",
        "token",
        "hosts.yml",
        "kubeconfig",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        ".terraformrc",
        "rclone.conf",
        "mcp.json",
        ".mcp.json",
        ".bash_history",
        ".zsh_history",
        "identity",
        "environment",
    }
)
_ENDINGS = (".env", ".pem", ".key", ".ppk", ".token", ".secret", "_rsa", "_ecdsa", "_ed25519")
_BEGINNINGS = (".env", "id_", "ssh_host_")
_FOLDERS = re.compile(r"/\.(?:ssh|aws|docker|kube|azure|config/gh|config/gcloud|gnupg)/")
_NEAR = (
    "/root/",
    "/home/",
    "/run/secrets/",
    "/var/run/secrets/",
    "/etc/mempalace/",
    "/etc/secrets/",
    "/tmp/",  # noqa: S108 - in an image, what a build forgot
    "/var/tmp/",  # noqa: S108 - in an image, what a build forgot
)
_LIBRARIES = re.compile(
    r"""^/usr/(?:share|include|src|lib/(?:python|ruby|perl|gcc|go))
      |/(?:node_modules|site-packages|dist-packages|__pycache__|\.cargo|\.rustup|\.cache|_cacache
          |\.nvm|\.git/objects|go/pkg)/""",
    re.VERBOSE,
)


class _Folder(NamedTuple):
    """What a folder alone tells of the files in it."""

    path: str
    library: bool
    near: bool
    credentials: bool


class Likely:
    """Tells by a path how much of a file to read."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Take the folders and files of the target's own systems.

        Args:
            paths: absolute, or beginning with ``~/``, which stands for any home.
        """
        told = [path.rstrip("/") for path in paths]
        absolute = [path for path in told if path.count("/") > 1 and path.startswith("/")]
        self._near = (*_NEAR, *(f"{path}/" for path in absolute))
        self._files = frozenset(absolute)
        self._homely = tuple(path[1:] for path in told if path.startswith("~/"))
        self._last = self._folder("/")

    def limit(self, path: str) -> int:
        """Return up to how many bytes a file is read; 0 is not at all."""
        at = path.rfind("/") + 1
        folder = self._last
        if path[:at] != folder.path:
            # Sources tell one folder's files one after another.
            folder = self._last = self._folder(path[:at])
        if path in self._files:
            return NAMED_LIMIT
        if folder.library:
            return 0
        name = path[at:].lower()
        if (
            folder.credentials
            or name in _NAMES
            or name.endswith(_ENDINGS)
            or name.startswith(_BEGINNINGS)
        ):
            return NAMED_LIMIT
        return NEAR_LIMIT if folder.near or path.endswith(self._homely) else 0

    def _folder(self, path: str) -> _Folder:
        return _Folder(
            path,
            bool(_LIBRARIES.search(path)),
            path.startswith(self._near) or any(f"{part}/" in path for part in self._homely),
            bool(_FOLDERS.search(path)),
        )
