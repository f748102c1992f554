"""The toolkit's loader in each shell's own file: what the shell then exports, and what is told."""

import subprocess
from pathlib import Path

import pytest
from support.homes import Homes

from fleet.inventory.model import Value

#: Each way of launching, and the file in which it is let source the loader.
LAUNCHES = {
    "zsh -ic": ".zshrc",
    "zsh -lc": ".zprofile",
    "bash -ic": ".bashrc",
    "bash -lc": ".profile",
}
MARK = "of-the-file-7"


@pytest.fixture
def home(homes: Homes) -> Path:
    folder = homes.home("one")
    (folder / ".config/pi").mkdir(parents=True)
    (folder / ".config/pi/.env").write_text(f"MARK='{MARK}'\n")
    return folder


def declared(homes: Homes, launch: str) -> None:
    homes.inventory.write_text(
        f"hosts:\n  one:\n    local: {homes.home('one')}\n    shell: {launch}\n"
        "    systems: [pi-toolkit]\n    vars: {pi_toolkit_source: builtin}\n"
    )


def exported(home: Path, launch: str) -> str:
    """Return what a program that is launched that way finds."""
    words = [*launch.split(), 'printf %s "$MARK"']
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return ended.stdout.decode()


def judged(homes: Homes) -> tuple[Value, str]:
    _code, found = homes.audit()
    gate = found["one", "toolkit.loader"]
    return str(gate["verdict"]), f"{gate['message']} {gate['evidence']}"


@pytest.mark.parametrize("launch", LAUNCHES)
def test_what_is_said_to_load_it_does(homes: Homes, home: Path, launch: str) -> None:
    declared(homes, launch)
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("fail", ""), told
    assert homes.run("apply", "--yes")[0] == 0, homes.printed
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("pass", MARK), told
    assert f"~/{LAUNCHES[launch]} sources ~/pi-toolkit/pi-env." in told

    file = home / LAUNCHES[launch]
    with_block = file.read_text()
    file.write_text(with_block.replace("'pi-toolkit'", "'of-before'"))
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("fail", ""), told
    assert f"no line of ~/{LAUNCHES[launch]} does" in told
    file.write_text(with_block)
    for loader in (home / "pi-toolkit").glob("pi-env.*"):
        loader.rename(loader.with_suffix(".gone"))
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("fail", ""), told


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("word", [".", "source"])
def test_a_line_of_the_users_own_is_told_and_not_guessed_at(
    homes: Homes, home: Path, launch: str, word: str
) -> None:
    declared(homes, launch)
    homes.run("apply", "--yes")
    file = home / LAUNCHES[launch]
    name = f"pi-env.{launch.partition(' ')[0]}"
    file.write_text(f"# . ~/pi-toolkit/{name}\n[ -r x ] ; {word} ~/pi-toolkit/{name}\n")
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("not-checked", MARK), told
    assert f"~/{LAUNCHES[launch]}, line 2" in told
    file.write_text(f"# . ~/pi-toolkit/{name}\necho tok-EXAMPLE-mine >/dev/null\n")
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("fail", ""), told
    assert "tok-EXAMPLE" not in told


@pytest.mark.parametrize("launch", ["zsh -ic", "bash -ic", "bash -lc"])
def test_a_shell_that_could_not_be_seen_is_not_said_to_load_it(
    homes: Homes, home: Path, launch: str
) -> None:
    """The block stands there, and the shell ends before it comes to it."""
    declared(homes, launch)
    homes.run("apply", "--yes")
    file = home / LAUNCHES[launch]
    file.write_text("exit 3\n" + file.read_text())
    verdict, told = judged(homes)
    assert (verdict, exported(home, launch)) == ("not-checked", ""), told
    assert f"{launch}: it ended with status 3" in told
    file.write_bytes(b"\0" + file.read_bytes())
    assert judged(homes)[0] == "not-checked"


def test_oh_my_zsh_has_a_copy_of_it(homes: Homes, home: Path) -> None:
    custom = home / ".oh-my-zsh/custom"
    custom.mkdir(parents=True)
    (home / ".zshrc").write_text(f"for each in {custom}/*.zsh(N); do . $each; done\n")
    declared(homes, "zsh -ic")
    assert judged(homes)[0] == "fail"
    homes.run("apply", "--yes")
    assert (judged(homes)[0], exported(home, "zsh -ic")) == ("pass", MARK)
    with (custom / "pi-env.zsh").open("a") as loader:
        loader.write("unset MARK\n")
    assert (judged(homes)[0], exported(home, "zsh -ic")) == ("fail", "")
    homes.run("apply", "--yes", "--adopt")
    (home / "pi-toolkit/pi-env.zsh").unlink()
    assert judged(homes)[0] == "not-checked"
    (home / ".zshrc").write_text("exit 3\n")
    homes.run("apply", "--yes")
    verdict, told = judged(homes)
    assert (verdict, "it ended with status 3" in told) == ("not-checked", True), told


def test_one_shell_of_two_that_loads_nothing_fails(homes: Homes, home: Path) -> None:
    declared(homes, "[bash -ic, bash -lc]")
    homes.run("apply", "--yes")
    assert judged(homes)[0] == "pass"
    (home / ".bash_profile").write_text("# what bash reads in place of ~/.profile\n")
    verdict, told = judged(homes)
    assert (verdict, exported(home, "bash -lc")) == ("fail", "")
    assert "no line of ~/.bash_profile does" in told
