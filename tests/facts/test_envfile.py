"""An env file's structure: the same from the controller's reader and from the probe's."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.places import CASES
from support.probing import NONCE, Shell

from fleet.facts.envfile import assignment, read_env_file
from fleet.facts.paths import EnvFile, EnvLine
from fleet.facts.request import PathQuestion, Read, Request
from fleet.secrets import keyed_digest

PUBLIC = ("MEMPALACE_REMOTE_URL", "URL", "U")
CASE_FILES = sorted(
    path
    for case in ("B02", "B03", "B04", "B07", "B11", "B12", "C02", "F06")
    for path in (CASES / case).rglob("*")
    if path.is_file() and path.name.endswith(".env")
)
ODD_FILES = {
    "empty": b"",
    "no end of line": b"A=1",
    "only line feeds": b"\n\n\n",
    "crlf": b"A=tok 1\r\n\r\n# c\r\nB='x'\r\n",
    "every quote": b'A="x\nB=\'y\nC="a\\"b"\nD=\'x\' # c\n'
    b"E='x'y\nF='x' y\nG=\"a\" #b\nH='it''s'\n",
    "names": b"=x\n1A=x\nA-B=x\nA.B=x\n  C=x\n"
    b"export D=x\nexport\tE = x\nexport =x\nexport=x\nF :x\n",
    "base64": b"MIIEvQIBADANBgkqhkiG9w0BAQEF=\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n"
    b"LONG_NAME_2024_Abc=x\n",
    "unicode": "A=tök-ÉXAMPLE\n# für\nÜ=1\nURL=https://pälace\n".encode(),
    "no utf-8": b"A=\xff\xfe\nURL=\xff\n\x80\x81\x82\x83\x84\x85\x86\x87\x88=1\n",
    "nul": b"A=1\0\nB=2\n",
    "control": b"A=\x1b[31m\n",
    "almost git-crypt": b"\5GITCRYPT\5x",
    "bom only": b"\xef\xbb\xbf",
    "bom twice": b"\xef\xbb\xbf\xef\xbb\xbfA=1\n",
    "glob": b"A=*\nB=[a-z]?\n*\n",
    "dash": b"-n=1\n-n\n--\n%s=%d\\n\n",
    "backslash": b'A=a\\nb\\\\\nB=\\\nC="\\\\"\n',
    "vertical tab": b"A=x\x0b\x0c\n\x0b\n",
    "yaml": b"A: 3\nB:4\nURL: x=y\nC : 'q' # x\n",
    "commands": b"set -a\n. ./other.env\nsource x\nif [ -f x ]; then\nunset A\n",
    "hash": b"Z=x #y #z\nA=#x\nB= #x\nC=x\t#y\nD=x#y #z\n#A=tok-EXAMPLE-1\n  # B=x\n",
}


def read(content: bytes) -> EnvFile:
    return read_env_file(content, nonce=NONCE, public=PUBLIC)


def ask_all(shell: Shell, files: list[Path]) -> dict[Path, EnvFile | None]:
    """Ask for many files in one round trip."""
    questions = tuple(PathQuestion(str(file), Read.ENV, public=PUBLIC) for file in files)
    paths = shell.facts(Request(NONCE, paths=questions)).paths
    return {file: paths[str(file)].env for file in files}


def write_all(folder: Path, contents: Iterable[bytes]) -> list[Path]:
    files = []
    for number, content in enumerate(contents):
        files.append(folder / str(number))
        files[-1].write_bytes(content)
    return files


def test_probe_reads_the_cases_as_the_controller_does(shell: Shell) -> None:
    assert len(CASE_FILES) == 11
    for file, told in ask_all(shell, CASE_FILES).items():
        assert told == read(file.read_bytes()), file


def test_probe_reads_odd_files_as_the_controller_does(shell: Shell, tmp_path: Path) -> None:
    files = write_all(tmp_path, ODD_FILES.values())
    told = ask_all(shell, files)
    for file, (name, content) in zip(files, ODD_FILES.items(), strict=True):
        assert told[file] == read(content), name


ALPHABET = st.sampled_from(
    b"A|B_C|URL|=|:| |\t|#|'|\"|\\|$|\r|\n|export |tok|7|\xc3\xa9|\xff|\x0c|*|-n".split(b"|")
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(contents=st.lists(st.lists(ALPHABET, max_size=40).map(b"".join), min_size=8, max_size=8))
def test_probe_reads_any_file_as_the_controller_does(
    dash: Shell, tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]
) -> None:
    files = write_all(tmp_path_factory.mktemp("any"), contents)
    told = ask_all(dash, files)
    for file, content in zip(files, contents, strict=True):
        assert told[file] == read(content)


def test_only_public_values_stay() -> None:
    file = read(b"TOKEN=tok-EXAMPLE-1\nexport URL='https://palace.example.net/mcp'\n")
    secret, public = file.lines
    assert secret.text == "TOKEN=xxx-xxxxxxx-0"
    assert secret.masked
    assert secret.raw == secret.trimmed == keyed_digest(NONCE, "tok-EXAMPLE-1")
    assert secret.unquoted is None
    assert public == EnvLine(number=2, text="export URL='https://palace.example.net/mcp'")


def test_b02_quotes_are_told_by_their_own_digest() -> None:
    line = read((CASES / "B02/quoted.env").read_bytes()).lines[0]
    assert line.text == 'TOKEN="xxx-xxxxxxx-0"'
    assert line.raw == keyed_digest(NONCE, '"tok-EXAMPLE-1"')
    assert line.unquoted == keyed_digest(NONCE, "tok-EXAMPLE-1")


def test_b04_mark_is_told_and_is_no_part_of_the_name() -> None:
    file = read((CASES / "B04/bom.env").read_bytes())
    assert file.bom
    assert file.lines[0].text == "MEMPALACE_REMOTE_URL=https://palace.example.net/mcp"


def test_b07_hash_with_and_without_a_blank() -> None:
    lines = read((CASES / "B07/hash.env").read_bytes()).lines
    assert lines[0].trimmed == keyed_digest(NONCE, "tok#1")
    assert lines[1].raw == keyed_digest(NONCE, "tok #1")
    assert lines[1].trimmed == keyed_digest(NONCE, "tok")
    assert lines[2].unquoted == keyed_digest(NONCE, "tok #1")


def test_b11_locked_file_is_encrypted_and_has_no_lines() -> None:
    file = read((CASES / "B11/locked.env").read_bytes())
    assert file == EnvFile(encrypted="git-crypt", binary=True)


@pytest.mark.parametrize(
    "line",
    [
        b"# TOKEN=tok-EXAMPLE-1",
        b"tok-EXAMPLE-1",
        b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC=",
        b"curl -H tok-EXAMPLE-1 https://palace.example.net",
        b"9TOKEN=tok-EXAMPLE-1",
    ],
)
def test_a_secret_outside_an_assignment_does_not_stay(line: bytes) -> None:
    (told,) = read(line).lines
    assert told.masked
    assert told.raw is None
    for word in ("tok", "EXAMPLE", "MIIE", "palace"):
        assert word not in told.text


def test_limits(dash: Shell, tmp_path: Path) -> None:
    long = b"#\n" * 500 + b"A=1\n"
    assert read(long).truncated
    assert len(read(long).lines) == 500
    assert read_env_file(b"A=1\n", nonce=NONCE, public=(), limit=3) == EnvFile(truncated=True)
    files = write_all(tmp_path, [long, b"#" * 600_000])
    assert list(ask_all(dash, files).values()) == [read(long), EnvFile(truncated=True)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"A=1", ("A", "=", b"1")),
        (b"  export A = 1", ("A", "=", b" 1")),
        (b"A: 3", ("A", ":", b" 3")),
        (b"A b=1", None),
        (b"export =1", None),
        (b"A", None),
    ],
)
def test_assignment(line: bytes, expected: tuple[str, str, bytes] | None) -> None:
    found = assignment(line)
    assert (found and (found.name, found.separator, found.value)) == expected
    assert found is None or found.head + found.value == line
