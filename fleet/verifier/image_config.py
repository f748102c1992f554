"""Secrets in an image's configuration: environment, history, labels, commands.

Build arguments stay in the history and ``ENV`` in the configuration, outside every file that a
scan of the layers sees. Only the place and the key are ever told.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from fleet.secrets import MASK


class Baked(NamedTuple):
    """A secret that was found: ``place`` is ``env``, ``history 2``, ``label build.args``, ``cmd``.

    History is numbered from 1, oldest first, as ``docker history`` tells it from below.
    """

    place: str
    key: str


_SECRET_WORDS = re.compile(r"token|secret|password|passwd|passphrase|credentials?|apikey|bearer")
_SECRET_PAIRS = frozenset({("api", "key"), ("access", "key"), ("private", "key"), ("auth", "key")})
_ABOUT = re.compile(
    r"""file|path|dir|folder|name|id|url|uri|host|user|username|limit|length|len|min|max|ttl
      |expiry|expires|timeout|type|kind|count|size|enabled|required|header|ref|mode|policy
      |endpoint|issuer|algorithm|prefix|suffix|format|version""",
    re.VERBOSE,
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ASSIGNED = re.compile(
    r"""(?<![\w$.])(?P<key>[A-Za-z_][\w.-]{0,127})=
        (?P<value>"(?:[^"\\]|\\.){0,4096}"|'[^']{0,4096}'|[^\s"';&|]{0,4096})""",
    re.VERBOSE,
)
_FLAG = re.compile(r"--(?P<key>[a-z][\w-]{0,63})[ =](?P<value>[^\s\"'-][^\s\"']{0,4096})")
_NO_VALUE = re.compile(
    r"""$ | \$\{[^}]*\}$ | \$\w+$ | \$\( | ` | %\w+%$ | \{\{.*\}\}$ | <[^<>]*>$
      | (?:\*+|x{3,}|redacted|true|false|none|null|yes|no|on|off|required|optional)$
      | (?:file://|~|\.{1,2})?(?:/[\w.@-]{1,40}){2,}/?$""",
    re.VERBOSE | re.IGNORECASE,
)
SHAPES = re.compile(
    r"""\b(?:gh[pousr]_[A-Za-z0-9]{30,} | github_pat_\w{30,} | glpat-[\w-]{16,}
          | xox[abeprs]-[\w-]{10,} | npm_[A-Za-z0-9]{30,} | sk-[A-Za-z0-9_-]{20,}
          | AKIA[A-Z0-9]{16} | eyJ[\w-]{8,400}\.eyJ[\w-]{8,4000}\.[\w-]{8})
      | -----BEGIN\ (?:[A-Z]{1,9}\ ){0,3}PRIVATE\ KEY
      | \bBearer\ (?!\$)[\w.~+/-]{8,}
      | [a-z][a-z0-9+.-]{1,20}://[^\s/:@$]{0,80}:(?!\$)[^\s/@$]{1,200}@""",
    re.VERBOSE,
)
_MOST = 20_000
SHAPE = "a value that looks like a secret"
_LABEL = "label "


def secrets_in_config(config: Mapping[str, object]) -> list[Baked]:
    """Return where an image's configuration holds a secret, each place and key once.

    Args:
        config: an image configuration as its JSON says it (``config`` and ``history``), or what an
            engine's inspect says (``Config``).
    """
    found: list[Baked] = []
    for place, text in texts_in_config(config):
        if place == "env":
            name, _, value = text.partition("=")
            found += [Baked(place, key) for key in held_secrets(name, value)]
        elif place.startswith(_LABEL):
            found += [Baked(place, key) for key in held_secrets(place[len(_LABEL) :], text)]
        else:
            found += [Baked(place, key) for key in _keys([text])]
    return list(dict.fromkeys(found))


def texts_in_config(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield every text of a configuration that may hold a secret, with its place.

    Args:
        config: as :func:`secrets_in_config` takes it. The command that a legacy builder ran last
            (``container_config``) counts as history.
    """
    inner = _mapping(config.get("config") or config.get("Config"))
    for line in _texts(inner.get("Env")):
        yield "env", line
    for name, value in list(_mapping(inner.get("Labels")).items())[:_MOST]:
        yield f"{_LABEL}{name}", str(value)[:_MOST]
    for place in ("Entrypoint", "Cmd"):
        yield place.lower(), " ".join(_texts(inner.get(place)))
    yield "healthcheck", " ".join(_texts(_mapping(inner.get("Healthcheck")).get("Test")))
    for line in _texts(inner.get("OnBuild")):
        yield "onbuild", line
    history = config.get("history")
    steps = history if isinstance(history, list) else []
    for number, step in enumerate(steps, start=1):
        yield f"history {number}", str(_mapping(step).get("created_by") or "")[:_MOST]
    last = _mapping(config.get("container_config") or config.get("ContainerConfig"))
    yield "history", " ".join(_texts(last.get("Cmd")))


def held_secrets(name: str, value: str) -> list[str]:
    """Return the keys of the secrets that a variable or a label holds, its own name for itself."""
    if is_secret(name, value):
        return [name]
    return [name if key == SHAPE else key for key in _keys([value[:_MOST]])]


def shown_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels fit to travel: one that holds a secret, or is too long to tell, is masked."""
    return {
        name: MASK if len(text) > _MOST or held_secrets(name, text) else text
        for name, text in labels.items()
    }


def _keys(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        told = False
        for pattern in (_ASSIGNED, _FLAG):
            for match in pattern.finditer(line):
                if is_secret(match["key"], match["value"]):
                    told = True
                    yield match["key"]
        if not told and SHAPES.search(line):
            yield SHAPE


def is_secret(key: str, value: str) -> bool:
    """Tell whether a value that stands under a key is a secret, by the key's words."""
    text = value.strip("\"'").strip()
    if _NO_VALUE.match(text):
        return False
    words = [word.lower() for word in _WORDS.findall(key)]
    if not words or _ABOUT.fullmatch(words[-1]):
        return False
    told = any(_SECRET_WORDS.fullmatch(word) for word in words)
    return told or not _SECRET_PAIRS.isdisjoint(pairwise(words))


def _mapping(value: object) -> Mapping[str, object]:
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    lines = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [str(line)[:_MOST] for line in lines[:_MOST]]
