"""What a palace's own words mean: its path, its address. Pure text rules."""

import posixpath
from urllib.parse import urlsplit, urlunsplit


def palace_is_local(path: str, home: str, *, xdg_config_home: str = "") -> bool:
    """Tell whether a reported path is a machine's own default palace.

    A client whose palace is remote and that reports one of these is half flipped: it looks healthy
    and writes locally. Up to 3.9 the default is ``~/.mempalace/palace``; from 3.10 it is
    ``mempalace/palace`` under an absolute ``XDG_CONFIG_HOME``, or under ``~/.config``.

    Args:
        path: what ``mempalace_status`` says, absolute.
        home: of the user who runs the client.
        xdg_config_home: as that user's environment has it; a relative one is ignored, as by
            the server.
    """
    configs = [posixpath.join(home, ".config")]
    if posixpath.isabs(xdg_config_home):
        configs.append(xdg_config_home)
    defaults = [posixpath.join(home, ".mempalace", "palace")]
    defaults += [posixpath.join(config, "mempalace", "palace") for config in configs]
    return _plain(path) in {_plain(default) for default in defaults}


def same_path(one: str, other: str, *, home: str) -> bool:
    """Tell whether two paths are one once ``~`` is filled in and dots are folded."""
    return _plain(_absolute(one, home)) == _plain(_absolute(other, home))


def without_credentials(url: str) -> str:
    """Return a URL without its user and password; any other text comes back as it is."""
    try:
        parts = urlsplit(url)
    except ValueError:
        head, at, tail = url.rpartition("@")
        scheme, slashes, _ = head.partition("://")
        return f"{scheme}{slashes}{tail}" if at and slashes else tail
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _absolute(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    return path


def _plain(path: str) -> str:
    folded = posixpath.normpath(path)
    # POSIX lets two leading slashes mean something else; no palace does.
    return folded[1:] if folded.startswith("//") else folded
