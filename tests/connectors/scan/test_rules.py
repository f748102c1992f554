"""What tells a secret in a file, and what does not."""

import pytest

from fleet.connectors.scan.rules import Rules, _bounded
from fleet.facts.request import KnownSecret
from fleet.secrets import keyed_digest

TOKEN = "tok-EXAMPLE-0123456789"
SECRETS = [
    KnownSecret("env:PALACE_TOKEN", len(TOKEN), keyed_digest("n0", TOKEN)),
    KnownSecret("env:SHORT", 3, keyed_digest("n0", "abc")),
]


def keys(path: str, text: str, *, likely: bool = True) -> list[str]:
    found = Rules(SECRETS, "n0").in_file(path, text.encode(), likely=likely)
    assert "EXAMPLE" not in repr(found)
    return [hit.key or hit.rule for hit in found]


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("/root/.netrc", "machine h login me password pw-EXAMPLE-1\n", "a login's password"),
        ("/srv/.npmrc", "//h/:_authToken=pw-EXAMPLE-1\n", "_authToken"),
        ("/root/.pypirc", "[pypi]\npassword = pw-EXAMPLE-1\n", "password"),
        ("/root/.git-credentials", "https://me:pw-EXAMPLE-1@git.example.net\n", "line 1"),
        ("/root/.docker/config.json", '{"auths": {"h": {"auth": "EXAMPLEbWU6"}}}', "auth"),
        ("/root/.aws/credentials", "[d]\naws_secret_access_key = EXAMPLE/abc+1\n", None),
        ("/root/.kube/config", "    token: EXAMPLE-abcdef\n", "token"),
        ("/root/.kube/config", "    client-key-data: EXAMPLEbWU6\n", "client-key-data"),
        ("/root/.pi/agent/auth.json", '{"p": {"type": "api_key", "key": "EXAMPLE-1"}}', "key"),
        ("/root/.ssh/id_x", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3\n", "private key"),
        ("/run/secrets/palace", "EXAMPLE0123456789abcdef\n", "a file of one token"),
        ("/r/.mempalace/server/ab/token", "EXAMPLE0123456789abcdef", "a file of one token"),
        ("/srv/.env", "export MEMPALACE_REMOTE_TOKEN='pw-EXAMPLE-1'\n", "MEMPALACE_REMOTE_TOKEN"),
        ("/root/bin/start", "#!/bin/sh\nexport A_TOKEN=EXAMPLE-1\n", "A_TOKEN"),
        ("/root/notes", "xoxb-123456789012-EXAMPLEabcdef\n", "line 1"),
    ],
)
def test_each_store_of_credentials(path: str, text: str, told: str | None) -> None:
    found = keys(path, text)
    assert (told or "aws_secret_access_key") in found, found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/srv/.env", "TOKEN=\nTOKEN=${TOKEN}\nTOKEN_FILE=/run/secrets/t\nMAX_TOKENS=400000\n"),
        ("/root/.npmrc", "//h/:_authToken=${NPM_TOKEN}\naudit=false\n"),
        ("/root/.netrc", "machine h login me\n"),
        ("/root/.pi/agent/settings.json", '{"apiKey": "$KEY_NAME", "maxTokens": 400000}'),
        ("/root/.pi/agent/extensions/x.ts", "const token = process.env.TOKEN ?? readToken();"),
        ("/etc/ssl/certs/ca.pem", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"),
        ("/root/.ssh/id_x.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA me@laptop"),
        ("/root/.ssh/known_hosts", "|1|abc=|def= ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"),
        ("/root/pkg/package-lock.json", '{"integrity": "sha512-' + "aB3/" * 21 + 'ab=="}'),
        ("/opt/kit/bin/x", "#!/usr/bin/env python3\nNAMED_SECRET = compiled\n"),
        ("/srv/.env", "NAMED_SECRET=$(cat /run/secrets/x)\nA_SECRET = re.compile(x)\n"),
        ("/run/secrets/readme", "put the token here\n"),
    ],
)
def test_decoys(path: str, text: str) -> None:
    assert keys(path, text) == []


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"\n{TOKEN}\n",
        f'fetch("https://h/mcp?t={TOKEN}")',
        f"Authorization: Bearer {TOKEN}",
        f"{'x' * 5000} {TOKEN}",
    ],
)
def test_a_secret_of_the_inventory_in_any_text(text: str) -> None:
    assert "env:PALACE_TOKEN" in keys("/srv/x.ts", text, likely=False)


@pytest.mark.parametrize("text", [f"x{TOKEN}", f"{TOKEN}x", TOKEN[:-1], "abc"])
def test_no_part_of_another_word_and_nothing_short(text: str) -> None:
    assert keys("/srv/x", text, likely=False) == []


@pytest.mark.parametrize("word", [True, False])
def test_a_word_is_found_in_both_ways(word: bool) -> None:
    rules = Rules([KnownSecret("env:T", len(TOKEN), keyed_digest("n0", TOKEN), word=word)], "n0")
    for text in (TOKEN, f'"{TOKEN}"', f"a={TOKEN}\n{TOKEN}x"):
        assert [hit.key for hit in rules.known_in(text.encode())] == ["env:T"]
    for text in (f"{TOKEN}x", f"x{TOKEN}", TOKEN[1:]):
        assert rules.known_in(text.encode()) == []


def test_a_secret_that_holds_what_separates_words() -> None:
    value = 'p"a b=EXAMPLE;c'
    rules = Rules([KnownSecret("env:ODD", len(value), keyed_digest("n0", value))], "n0")
    assert rules.known_in(f"KEY='{value}'\n".encode())


@pytest.mark.parametrize("password", ["pass", "password", "PASSWD", "secret", "xxxx", "***", "<p>"])
def test_a_login_that_documentation_shows_counts_only_where_logins_are_kept(password: str) -> None:
    text = f"proxy, such as http://user:{password}@proxy.example.net:3128/\n"
    assert keys("/usr/share/doc/x/README", text, likely=False) == []
    assert keys("/root/.gitconfig", text) == ["line 1"]


def test_any_other_login_counts_everywhere() -> None:
    for password in ("pw-EXAMPLE-1", "pass1EXAMPLE", "secretEXAMPLE"):
        text = f"http://me:{password}@proxy.example.net\n"
        assert keys("/srv/notes.txt", text, likely=False) == ["line 1"], password


def test_long_lines_are_broken_and_no_token_is() -> None:
    words = [f"{number:0200d}" for number in range(300)]
    text = f"short\n{''.join(words)}\nend"
    lines = _bounded(text).split("\n")
    assert max(map(len, lines)) <= 1024
    assert all(any(word in line for line in lines) for word in words)
    assert (lines[0], lines[-1]) == ("short", "end")


def test_hostile_text_costs_little() -> None:
    """Patterns whose cost grows with the square of a line meet no long line."""
    text = "eyJ" * 80_000 + "aws" * 20_000 + "://a:" * 20_000
    assert keys("/srv/.env", text) == []
