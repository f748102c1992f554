"""What tells a secret in a file's content. The value itself never leaves this module.

Shapes of tokens and keys come from ``detect-secrets`` in the copy that is kept up with checkov; its
plugins are asked for their patterns only, and ask nobody themselves. What stands under a telling
name comes from :mod:`fleet.verifier.image_config`, so that a file and a configuration are judged
alike. The inventory's own secrets are known by length and keyed digest.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from fleet.facts.environment import digest_bytes
from fleet.facts.request import SEPARATORS, KnownSecret
from fleet.verifier.image_config import SHAPE, SHAPES, is_secret

_AWS = ("aws_", "aws-", "aws key", "aws access", "aws secret", "awsaccess", "awssecret", "awskey")
#: Module of a plugin, its class, and words of which one stands in every text that it can find
#: something in, in any case where they are all lower: what makes looking through a text cheap.
_PLUGINS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "artifactory": ("ArtifactoryDetector", ("AKC", "artifactory", "jfrog", "buildkit")),
    "aws": ("AWSKeyDetector", (*_AWS, "AKIA", "ASIA", "ABIA", "ACCA", "A3T")),
    "azure_storage_key": ("AzureStorageKeyDetector", ("azure", "accountkey")),
    "cloudant": ("CloudantDetector", ("cloudant",)),
    "discord": ("DiscordBotTokenDetector", ("discord",)),
    "github_token": ("GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    "ibm_cloud_iam": ("IbmCloudIamDetector", ("ibm",)),
    "mailchimp": ("MailchimpDetector", ("mailchimp",)),
    "npm": (
        "NpmDetector",
        ("npm_", "_authToken", "NPM_TOKEN", "NPM-TOKEN", "NPM TOKEN", "NPMTOKEN"),
    ),
    "sendgrid": ("SendGridDetector", ("SG.",)),
    "slack": ("SlackDetector", ("xox", "hooks.slack.com")),
    "softlayer": ("SoftlayerDetector", ("softlayer",)),
    "square_oauth": ("SquareOAuthDetector", ("sq0csp-",)),
    "stripe": ("StripeDetector", ("k_live_",)),
    "twilio": ("TwilioKeyDetector", ("twilio",)),
}
_WORDS = tuple(
    (word.encode(), word.islower(), module)
    for module, (_, words) in _PLUGINS.items()
    for word in words
)

_IN_SHAPES = frozenset({"npm", "github_token"})
_LONGEST_LINE = 1024
_OVERLAP = 200
_SHORTEST = 6
_MOST_IN_FILE = 20
_EDGE = re.escape(SEPARATORS)
_PRIVATE = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,9} ){0,3}PRIVATE KEY|^\(\d+:(?:protected-)?private-key"
)
#: Of these one matches where :data:`SHAPES` does; each begins with letters, which makes it quick.
_HINTS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"gh[pousr]_[A-Za-z0-9]{30}",
        rb"github_pat_\w{30}",
        rb"glpat-[\w-]{16}",
        rb"xox[abeprs]-[\w-]{10}",
        rb"npm_[A-Za-z0-9]{30}",
        rb"sk-[A-Za-z0-9_-]{20}",
        rb"AKIA[A-Z0-9]{16}",
        rb"eyJ[\w-]{8,400}\.eyJ",
        rb"Bearer [\w.~+/-]{8}",
        rb"://[^\s/:@$]{0,80}:[^\s/@$]{1,200}@",
    )
)
_SHOWN_LOGIN = re.compile(
    r"://[^:]*:(?:pass(?:wd|word)?|pwd|secret|x{3,}|\*+|\.{3}|<[^>]*>|\{[^}]*\})@",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""(?<![\w$.-])["']?(?P<key>[A-Za-z_][\w.-]{0,127})["']?[ \t]{0,8}[:=][ \t]{0,8}
        (?P<value>"(?:[^"\\\n]|\\.){0,1024}"|'[^'\n]{0,1024}'|[^\s"';&|,{}()\[\]]{0,1024}(?=[\s"';&|,{}\[\]]|$))""",
    re.VERBOSE,
)
_LOGIN = re.compile(r"^(?:.*\s)?password\s+(?P<value>\S+)", re.MULTILINE)
#: Names that tell nothing elsewhere, by the files in which they hold credentials.
_TELLING = {
    "auth.json": frozenset({"key", "access", "refresh"}),
    "config.json": frozenset({"auth", "identitytoken"}),
    ".dockercfg": frozenset({"auth"}),
    "config": frozenset({"client-key-data"}),
    "kubeconfig": frozenset({"client-key-data"}),
}
_CODE = (".ts", ".js", ".mjs", ".cjs", ".tsx", ".jsx", ".py", ".go", ".rs", ".c", ".h", ".md")
_SHELL = re.compile(r"\b(?:ba|da|k|z)?sh\b")
_ONE_TOKEN = re.compile(r"\s*[\w.~+/=-]{16,512}\s*")
_TOKEN_FILES = ("token", ".vault-token")


class Hit(NamedTuple):
    """A secret that was found: the name it stands under or its line, and what told it."""

    key: str
    rule: str


class _Plugin(Protocol):
    secret_type: str
    denylist: Iterable[re.Pattern[str]]


class Rules:
    """Finds secrets in content, bounded in time by the content's size."""

    def __init__(self, secrets: Sequence[KnownSecret], nonce: str) -> None:
        """Take the secrets of the inventory; those too short to tell anything are not looked for.

        Args:
            secrets: by length and digest.
            nonce: keys the digests.
        """
        self._nonce = nonce
        self._known = [secret for secret in secrets if secret.length >= _SHORTEST]
        self._names = {secret.digest: secret.name for secret in self._known}
        self._words = frozenset(secret.length for secret in self._known if secret.word)
        self._texts = frozenset(secret.length for secret in self._known if not secret.word)

    @property
    def known(self) -> int:
        """How many secrets of the inventory are looked for."""
        return len(self._known)

    def in_file(self, path: str, content: bytes, *, likely: bool) -> list[Hit]:
        """Return what a file holds, each rule and name once.

        Args:
            path: of the file; its name tells which names in it mean something.
            content: whole.
            likely: whether the file may be expected to hold credentials; then what stands under a
                telling name counts too.
        """
        name = path.rpartition("/")[2].lower()
        text = content.decode("utf-8", "replace")
        found = [*self.known_in(content), *_shaped(content, text, likely=likely)]
        if likely and not _is_code(name, text):
            found += _assigned(text, _TELLING.get(name, frozenset()))
            found += [Hit("", "a login's password")] if _logs_in(name, text) else []
            found += [Hit("", "a file of one token")] if not found and _is_token(path, text) else []
        return list(dict.fromkeys(found))[:_MOST_IN_FILE]

    def known_in(self, content: bytes) -> list[Hit]:
        """Return the secrets of the inventory that stand in a content as words of their own."""
        words: set[bytes] = set()
        if self._words:
            shortest = _words_from(min(self._words))
            words = {word for word in shortest.findall(content) if len(word) in self._words}
        for length in self._texts:
            words |= {match[1] for match in _texts_of(length).finditer(content)}
        digests = {digest_bytes(self._nonce, word) for word in words}
        return sorted(
            Hit(self._names[d], "a secret of the inventory") for d in digests & self._names.keys()
        )


@lru_cache(maxsize=64)
def _words_from(length: int) -> re.Pattern[bytes]:
    """Match the words that are of a length or longer."""
    return re.compile(b"[^%s]{%d,}" % (_EDGE, length))


@lru_cache(maxsize=64)
def _texts_of(length: int) -> re.Pattern[bytes]:
    """Match texts of a length; they may hold, but not touch, what separates words."""
    word = b"(?=(.{%d})(?:$|[%s]))" % (length, _EDGE)
    return re.compile(b"(?:(?<=[%s])|\\A)%s" % (_EDGE, word), re.DOTALL)


def _shaped(content: bytes, text: str, *, likely: bool) -> Iterator[Hit]:
    """Yield what has a known shape; most content is dismissed by a look at its bytes.

    In a file that nobody expects to hold credentials, a login in a URL whose password is a word
    for one is taken for what documentation shows.
    """
    if _PRIVATE.search(text):
        yield Hit("", "private key")
    modules = _modules(content)
    hinted = any(hint.search(content) for hint in _HINTS)
    if not modules and not hinted:
        return
    lines, told = _bounded(text), False
    for rule, value in _matches(modules, lines):
        told = True
        yield Hit(_line(text, value), rule)
    for match in SHAPES.finditer(lines) if hinted and not told else ():
        if not _PRIVATE.search(match[0]) and (likely or not _SHOWN_LOGIN.search(match[0])):
            yield Hit(_line(text, match[0]), SHAPE)


def shapes_in(text: str) -> list[str]:
    """Return which rules of the kept-up set find something in a configuration's text, each once.

    What :data:`SHAPES` tells there already is not asked again: ``NPM_CONFIG_PREFIX`` stands in many
    images, and would load a plugin for nothing.
    """
    modules = _modules(text.encode("utf-8", "surrogateescape")) - _IN_SHAPES
    return list(dict.fromkeys(rule for rule, _ in _matches(modules, _bounded(text))))


def _modules(content: bytes) -> set[str]:
    """Return the plugins that can find something; a look at bytes dismisses the others."""
    lower = content.lower()
    return {m for word, any_case, m in _WORDS if word in (lower if any_case else content)}


def _matches(modules: Iterable[str], lines: str) -> Iterator[tuple[str, str]]:
    for plugin in map(_plugin, sorted(modules)):
        for pattern in plugin.denylist:
            yield from ((plugin.secret_type, match[0]) for match in pattern.finditer(lines))


@lru_cache(maxsize=32)
def _plugin(module: str) -> _Plugin:
    from detect_secrets import plugins  # noqa: PLC0415 - slow, and few images hold what it knows

    made = getattr(import_module(f"{plugins.__name__}.{module}"), _PLUGINS[module][0])
    return cast("_Plugin", made())


def _bounded(text: str) -> str:
    """Break long lines into pieces that overlap: a pattern's cost grows with a line's square."""
    if len(text) <= _LONGEST_LINE:
        return text
    pieces: list[str] = []
    for line in text.split("\n"):
        if len(line) <= _LONGEST_LINE:
            pieces.append(line)
        else:
            step = _LONGEST_LINE - _OVERLAP
            pieces += [line[at : at + _LONGEST_LINE] for at in range(0, len(line), step)]
    return "\n".join(pieces)


def _line(text: str, value: str) -> str:
    at = text.find(value)
    return f"line {text.count(chr(10), 0, at) + 1}" if at >= 0 else ""


def _assigned(text: str, telling: frozenset[str]) -> Iterator[Hit]:
    for match in _ASSIGNED.finditer(_bounded(text)):
        key, value = match["key"], match["value"].strip("\"'")
        if len(value) >= _SHORTEST and (
            is_secret(key, value) or (key.lower() in telling and is_secret("token", value))
        ):
            yield Hit(key, "a telling name")


def _is_code(name: str, text: str) -> bool:
    """Tell code, in which names stand for values, from a file or a shell script that holds them."""
    program = text.partition("\n")[0] if text.startswith("#!") else ""
    return name.endswith(_CODE) or bool(program and not _SHELL.search(program))


def _logs_in(name: str, text: str) -> bool:
    if name not in (".netrc", "_netrc"):
        return False
    return any(is_secret("password", match["value"]) for match in _LOGIN.finditer(_bounded(text)))


def _is_token(path: str, text: str) -> bool:
    folder, _, name = path.rpartition("/")
    there = name in _TOKEN_FILES or name.endswith((".token", ".secret"))
    return (there or folder.endswith("/run/secrets")) and bool(_ONE_TOKEN.fullmatch(text))
