"""A container held against its service, form by form; what is not known is never a difference."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.places import CASES

from fleet.facts.dotenv import Dialect, EnvEntry, interpret
from fleet.facts.envfile import read_env_file
from fleet.facts.environment import command_text, env_value
from fleet.facts.images import ImageFact
from fleet.facts.running import ContainerFact, EnvValue, Publication
from fleet.secrets import keyed_digest
from fleet.verifier.compose import read_compose, stand_ins
from fleet.verifier.compose_running import Ground, full_name
from fleet.verifier.composed import Around, Compared, compare_container, untold

NONCE = "nonce"
TOKEN = "tok-EXAMPLE-composed"
SERVE = ("serve", "--all")


def entries(text: str, public: tuple[str, ...] = ()) -> Mapping[str, EnvEntry]:
    file = read_env_file(text.encode(), nonce=NONCE, public=public)
    return interpret(file, Dialect.COMPOSE).entries


def values(**variables: str) -> dict[str, EnvValue]:
    return {name: env_value(text, nonce=NONCE, public=False) for name, text in variables.items()}


def digest(*words: str) -> str:
    return keyed_digest(NONCE, command_text(words))


def started(**changed: Any) -> ContainerFact:
    made: dict[str, Any] = {
        "name": "pi-1",
        "service": "pi",
        "state": "running",
        "image": "sha256:1",
        "image_name": "pi:1",
        "image_now": "sha256:1",
        "command": digest("init", *SERVE),
        "arguments": digest(*SERVE),
        "variables": values(PATH="/bin"),
    }
    return ContainerFact.model_validate({**made, **changed})


BAKED = ImageFact(id="sha256:1", variables=values(PATH="/bin"), arguments=digest(*SERVE))


def compared(
    service: str,
    container: ContainerFact,
    *,
    dotenv: str = "",
    public: tuple[str, ...] = (),
    top: str = "",
    image: ImageFact | None = BAKED,
    files: Mapping[str, Mapping[str, EnvEntry] | None] | None = None,
) -> Compared:
    found = entries(dotenv, public)
    lines = "".join(f"    {line}\n" for line in ("image: pi:1\n" + service).splitlines())
    file = read_compose(f"services:\n  pi:\n{lines}{top}", "compose.yml", stand_ins(found))
    ground = Ground("/home/u", "/srv/pi", "p", NONCE, untold(found))
    around = Around(found, files or {})
    return compare_container(ground, around, file, file.services["pi"], container, image)


def test_a_container_as_it_was_made() -> None:
    assert compared("", started()) == Compared()


SHELL = "was not compared: its value comes from the shell that runs compose"
ENVIRONMENT = [
    ("environment: {A: x}", "", {"A": "x"}, (), ()),
    ("environment: [A=x]", "", {"A": "y"}, ("A is not the declared value",), ()),
    ("environment: {A: x}", "", {}, ("A is not set",), ()),
    ("environment: {A: 'a$$b'}", "", {"A": "a$b"}, (), ()),
    ("environment: {A: '${T}'}", f"T={TOKEN}", {"A": TOKEN}, (), ()),
    ("environment: ['A=$T']", f"T={TOKEN}", {"A": TOKEN}, (), ()),
    ("environment: [T]", f"T={TOKEN}", {"T": TOKEN}, (), ()),
    ("environment: {T: }", "T=other", {"T": TOKEN}, ("T is not the declared value",), ()),
    ("environment: {A: '${T:-d}'}", f"T={TOKEN}", {"A": TOKEN}, (), ()),
    ("environment: {A: '${T:-d}'}", "T=", {"A": "d"}, (), ()),
    ("environment: {A: '${T:-d}'}", "", {"A": "d"}, (), ()),
    ("environment: {A: '${T:-d}'}", "", {"A": "e"}, ("A is not the declared value",), ()),
    ("environment: {A: '${T}'}", "", {"A": TOKEN}, (), (f"A {SHELL}",)),
    ("environment: [T]", "", {"T": TOKEN}, (), (f"T {SHELL}",)),
    ("environment: {A: '${T:?set it}'}", "", {"A": TOKEN}, (), (f"A {SHELL}",)),
    ("environment: {A: '${T:?set it}'}", f"T={TOKEN}", {"A": TOKEN}, (), ()),
    (
        "environment: {A: 'http://${T}/'}",
        f"T={TOKEN}",
        {"A": "z"},
        (),
        ("A was not compared: its value is pieced together of variables that are not told",),
    ),
    ("", "", {"A": "x"}, ("A is set, and neither the file nor the image says so",), ()),
    ("", "", {"HTTPS_PROXY": "x", "no_proxy": "y"}, (), ()),
    ("", "", {"PATH": "/x"}, ("PATH is not the image's own, and the file does not name it",), ()),
    ("environment: {PATH: /x}", "", {"PATH": "/x"}, (), ()),
]


@pytest.mark.parametrize(("service", "dotenv", "held", "wrong", "unseen"), ENVIRONMENT)
def test_the_environment(
    service: str,
    dotenv: str,
    held: dict[str, str],
    wrong: tuple[str, ...],
    unseen: tuple[str, ...],
) -> None:
    variables = values(**{"PATH": "/bin", **held})
    found = compared(service, started(variables=variables), dotenv=dotenv)
    told = tuple(line.partition(" (")[0] for line in found.wrong)  # less the lengths
    assert (told, found.unseen) == (wrong, unseen)
    assert TOKEN not in str(found)


def test_what_is_pieced_together_of_public_values_is_compared() -> None:
    service = "environment: {A: 'http://${HOST}:${PORT:-80}/'}"
    public = ("HOST", "PORT")
    good = started(variables=values(PATH="/bin", A="http://vault:80/"))
    assert compared(service, good, dotenv="HOST=vault\n", public=public) == Compared()
    found = compared(service, good, dotenv="HOST=attic\n", public=public)
    assert found.wrong == ("A is not the declared value",)


def test_files_of_variables_and_which_of_them_holds() -> None:
    service = "env_file: [a.env, {path: b.env, required: false}]\nenvironment: {C: own}"
    files = {"a.env": entries(f"A={TOKEN}\nB=1\nC=1\n"), "b.env": entries("B=2\n")}
    held = values(PATH="/bin", A=TOKEN, B="2", C="own")
    assert compared(service, started(variables=held), files=files) == Compared()
    files["b.env"] = entries("B=3\n")
    found = compared(service, started(variables=held), files=files)
    assert found.wrong == ("B is not the declared value",)


def test_a_file_of_variables_that_was_not_read() -> None:
    held = started(variables=values(PATH="/bin", A="1"))
    found = compared("env_file: [a.env]", held, files={"a.env": None})
    assert found.wrong == ()
    assert found.unseen == ("a.env was not read, so its variables were not compared",)
    optional = "env_file: [{path: a.env, required: false}]"
    found = compared(optional, held, files={"a.env": {}})
    assert found.wrong == ("A is set, and neither the file nor the image says so",)


OTHER = "its command is not the one in the file"
COMMANDS = [
    ("", digest("init", *SERVE), digest(*SERVE), ()),
    (
        "",
        digest("init", "x"),
        digest("x"),
        ("its command is not the image's own, and the file says none",),
    ),
    ("command: x y", digest("init", "x", "y"), digest("x", "y"), ()),
    ("command: x y", digest("init", *SERVE), digest(*SERVE), (OTHER,)),
    ("entrypoint: [x]", digest("x"), digest(), ()),
    ("entrypoint: [x]\ncommand: [y, 'a b']", digest("x", "y", "a b"), digest("y", "a b"), ()),
    ("entrypoint: [x]\ncommand: [z]", digest("x", "y"), digest("y"), (OTHER,)),
    ('command: ["echo", "$$A"]', digest("init", "echo", "$A"), digest("echo", "$A"), ()),
]


@pytest.mark.parametrize(("service", "command", "arguments", "wrong"), COMMANDS)
def test_the_command(service: str, command: str, arguments: str, wrong: tuple[str, ...]) -> None:
    found = compared(service, started(command=command, arguments=arguments))
    assert found == Compared(wrong)


def test_a_command_filled_in_from_a_secret_is_not_compared() -> None:
    found = compared('command: [serve, "$T"]', started(), dotenv=f"T={TOKEN}")
    assert found == Compared(unseen=("command: the value of T is not known here",))


MOUNTS = [
    (
        "volumes: ['./data:/d', 'vol:/n', '~/x:/x']",
        {"/d": "/srv/pi/data", "/n": "p_vol", "/x": "/home/u/x"},
        "",
        (),
    ),
    ("volumes: ['vol:/n']", {"/n": "other"}, "volumes: {vol: {name: other}}", ()),
    ("volumes: ['vol:/n']", {"/n": "vol"}, "volumes: {vol: {external: true}}", ()),
    (
        "volumes: ['vol:/n']",
        {"/n": "p_vol"},
        "volumes: {vol: {external: true}}",
        ("p_vol is mounted at /n, the file says vol",),
    ),
    ("", {"/cache": "a" * 64}, "", ()),
    ("", {"/host": "/"}, "", ("/ is mounted at /host, which the file does not say",)),
    ("secrets: [k]", {"/run/secrets/k": "/srv/pi/k"}, "", ()),
    ("configs: [{source: c, target: /c}]", {"/c": "/srv/pi/c"}, "", ()),
]


@pytest.mark.parametrize(("service", "mounts", "top", "wrong"), MOUNTS)
def test_the_mounts(service: str, mounts: dict[str, str], top: str, wrong: tuple[str, ...]) -> None:
    assert compared(service, started(mounts=mounts), top=top) == Compared(wrong)


def test_ports_of_a_container_in_the_hosts_network_are_not_asked() -> None:
    assert compared("ports: ['80:80']\nnetwork_mode: host", started()) == Compared()
    assert compared("ports: ['80:80']", started()).wrong == ("does not publish 80:80",)
    ports = (
        Publication(address="0.0.0.0", port=80, inner=80),
        Publication(address="::", port=80, inner=80),
    )
    assert compared("ports: ['80:80']", started(ports=ports)) == Compared()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pi", "pi:latest"),
        ("hub.example.net/library/pi:1", "pi:1"),
        ("library/pi", "pi"),
        ("localhost/pi:1", "pi:1"),
        ("h:5/pi", "h:5/pi:latest"),
    ],
)
def test_names_of_images_with_what_they_leave_out(one: str, other: str) -> None:
    assert full_name(one) == full_name(other)


def test_another_image_and_an_older_one() -> None:
    assert compared("", started(image_name="pi:2")).wrong == (
        "made of the image pi:2, the file says pi:1",
    )
    assert compared("", started(image_now="sha256:2")).wrong == (
        "made of an older image than pi:1 is today",
    )
    assert compared("", started(image_now="")) == Compared()  # the name is gone: nothing is told
    assert compared("", started(image_name="")).unseen == ("the name of its image was not seen",)


def test_case_b10_a_restart_reads_nothing_anew() -> None:
    """The container was started after the change, and was created before it."""
    case = json.loads((CASES / "B10/inspect.json").read_text())[0]
    name, _, old = case["Config"]["Env"][0].partition("=")
    held = started(variables=values(PATH="/bin", **{name: old}), created=case["Created"])
    dotenv = (CASES / "B10/.env").read_text()
    found = compared(f"environment: [{name}]", held, dotenv=dotenv)
    assert found.wrong == (f"{name} is not the declared value",)
    held = started(variables=values(PATH="/bin", **{name: dotenv.strip().partition("=")[2]}))
    assert compared(f"environment: [{name}]", held, dotenv=dotenv) == Compared()


@pytest.mark.parametrize("case", ["C04", "C08", "C09", "C11", "C12"])
def test_what_compose_makes_of_a_misleading_file_is_no_drift(case: str) -> None:
    """Ports like times, drive letters, files that need not be there, doubled dollars."""
    text = (CASES / case / "docker-compose.yml").read_text()
    file = read_compose(text, "docker-compose.yml", {"PATH": "/bin", "TOKEN": "x"})
    ground, around = (
        Ground("/home/u", "/srv/pi", "p", NONCE),
        Around({}, {"must.env": {}, ".env": {}}),
    )
    for service in file.services.values():
        mounts = {
            v.target: f"/srv/pi/{v.source[2:]}" if v.source.startswith("./") else v.source
            for v in service.volumes
        }
        mounts |= {v.target: "p_named" for v in service.volumes if v.source == "named"}
        whole = ("services", service.name, "entrypoint") in file.places
        container = started(
            image_name=service.image,
            ports=tuple(
                Publication(
                    address=p.address or "0.0.0.0", port=int(p.published), inner=int(p.target)
                )
                for p in service.ports
                if p.published
            ),
            mounts=mounts,
            restart=service.restart.partition(":")[0],
            variables=values(**{n: t for n, t in service.environment.items() if t is not None}),
            command=digest(*service.command) if whole else digest("init", *service.command),
            arguments=digest(*service.command),
        )
        assert compare_container(ground, around, file, service, container).wrong == ()
