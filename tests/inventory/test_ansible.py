"""Ansible's inventories as they are: YAML, INI, and the variables beside them."""

from pathlib import Path

import pytest

from fleet.errors import InventoryError, Place
from fleet.inventory.ansible_ini import ini_value
from fleet.inventory.inventory import Inventory
from fleet.inventory.load import load_inventory
from fleet.inventory.model import Address, Become, Kind, Scheme
from fleet.inventory.ranges import expanded

YAML = """\
all:
  vars: {ansible_user: deploy, region: eu}
  hosts:
    here: {ansible_connection: local}
  children:
    web:
      hosts:
        web[01:02].example.net:
          ansible_port: 2222
        alias:
          ansible_host: 2001:db8::5
          ansible_ssh_private_key_file: ~/.ssh/deploy
          ansible_become: yes
      vars:
        fleet_systems: [env, mempalace-bridge]
        fleet_require: feed, stamp
        fleet_shell: bash -lc
        later: "{{ registered.stdout }}"
    boxes:
      children: {inner: }
    inner:
      hosts:
        box: {ansible_connection: docker, ansible_host: pi-devbox}
        root: {ansible_connection: community.general.chroot, ansible_host: /srv/root}
    ungrouped:
      hosts: {lone: }
"""

INI = """\
# machines
lone
[web]
web[01:02].example.net ansible_port=2222 note="two words"
alias ansible_host=2001:db8::5 ansible_ssh_private_key_file=/keys/deploy # a comment
10.0.0.5:2200
[2001:db8::9]:22 ansible_user=root

[boxes:children]
inner
[inner]
box ansible_connection=docker ansible_host=pi-devbox

[web:vars]
ansible_user=deploy
ansible_become=yes
fleet_systems=['env', 'mempalace-bridge']
fleet_shell=zsh -ic
version=1.10   # of what
quoted='#1'
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def by_name(inventory: Inventory) -> dict[str, Address]:
    return {target.name: target.address for target in inventory.targets}


def test_yaml_is_accepted_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    write(tmp_path, {"hosts.yml": YAML})
    inventory = load_inventory(tmp_path / "hosts.yml")
    assert by_name(inventory) == {
        "here": Address(Scheme.LOCAL, ""),
        "web01.example.net": Address(Scheme.SSH, "web01.example.net", "deploy", 2222),
        "web02.example.net": Address(Scheme.SSH, "web02.example.net", "deploy", 2222),
        "alias": Address(Scheme.SSH, "2001:db8::5", "deploy"),
        "box": Address(Scheme.CONTAINER, "pi-devbox"),
        "root": Address(Scheme.ROOTFS, "/srv/root"),
        "lone": Address(Scheme.SSH, "lone", "deploy"),
    }
    alias = inventory.target("alias")
    assert alias is not None
    assert alias.systems == ("env", "mempalace-bridge")
    assert alias.require == ("feed", "stamp")
    assert alias.launches == ("bash -lc",)
    assert alias.become == Become("root")
    assert alias.identity == "/home/me/.ssh/deploy"
    box = inventory.target("box")
    assert box is not None
    assert (box.kind, box.groups, box.launches) == (
        Kind.CONTAINER,
        ("boxes", "inner"),
        ("container",),
    )
    assert inventory.groups["boxes"] == ("box", "root")
    assert "ungrouped" not in inventory.groups


def test_what_only_ansible_can_render_is_left_out_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, {"hosts.yml": YAML})
    inventory = load_inventory(tmp_path / "hosts.yml")
    alias = inventory.target("alias")
    assert alias is not None
    assert "later" not in alias.variables
    assert any("`later` is left out" in note and "registered" in note for note in inventory.notes)


def test_what_a_connection_needs_must_render_through_all_it_refers_to(tmp_path: Path) -> None:
    ini = "a ansible_host='{{ x }}' x='{{ nope }}'\n"
    write(tmp_path, {"hosts": ini})
    with pytest.raises(InventoryError, match="undefined variable `nope` in `ansible_host`"):
        load_inventory(tmp_path)


def test_ini_is_accepted_as_it_is(tmp_path: Path) -> None:
    write(tmp_path, {"hosts": INI})
    inventory = load_inventory(tmp_path / "hosts")
    assert by_name(inventory) == {
        "lone": Address(Scheme.SSH, "lone"),
        "web01.example.net": Address(Scheme.SSH, "web01.example.net", "deploy", 2222),
        "web02.example.net": Address(Scheme.SSH, "web02.example.net", "deploy", 2222),
        "alias": Address(Scheme.SSH, "2001:db8::5", "deploy"),
        "10.0.0.5": Address(Scheme.SSH, "10.0.0.5", "deploy", 2200),
        "2001:db8::9": Address(Scheme.SSH, "2001:db8::9", "root", 22),
        "box": Address(Scheme.CONTAINER, "pi-devbox"),
    }
    web = inventory.target("web01.example.net")
    assert web is not None
    assert web.systems == ("env", "mempalace-bridge")
    assert web.launches == ("zsh -ic",)
    assert web.become == Become("root")
    assert web.variables["note"] == "two words"
    assert str(web.variables["version"]) == "1.10"
    assert web.variables["quoted"] == "#1"
    alias = inventory.target("alias")
    assert alias is not None
    assert alias.identity == "/keys/deploy"
    assert alias.place is not None
    assert alias.place.line == 5
    assert inventory.groups["boxes"] == ("box",)


def test_a_folder_as_ansible_has_it(tmp_path: Path) -> None:
    files = {
        "hosts": "[web]\na x=inline y=inline\nb\n[web:vars]\nx=web\nz=web\n",
        "group_vars/all.yml": "z: all-file\nfleet_systems: [env]\n",
        "group_vars/web/one.yml": "w: web-file\n",
        "host_vars/a": "y: host-file\n",
    }
    write(tmp_path, files)
    a, b = load_inventory(tmp_path).targets
    # group_vars/all speaks after [web:vars], as Ansible has it.
    told = {"x": "inline", "y": "host-file", "z": "all-file", "w": "web-file"}
    assert {name: a.variables[name] for name in told} == told
    assert (b.variables["x"], b.systems) == ("web", ("env",))


def test_group_priority_decides_among_equals(tmp_path: Path) -> None:
    ini = "[a]\nh\n[b]\nh\n[a:vars]\nx=a\nansible_group_priority=10\n[b:vars]\nx=b\n"
    write(tmp_path, {"hosts.ini": ini})
    (target,) = load_inventory(tmp_path).targets
    assert target.variables["x"] == "a"


def test_what_plays_no_part_is_noted(tmp_path: Path) -> None:
    ini = "a ansible_ssh_pass=tok-EXAMPLE-1 ansible_ssh_common_args='-J x' fleet_systems=env\n"
    write(tmp_path, {"hosts": ini})
    notes = load_inventory(tmp_path).notes
    assert [note.split(" ")[0] for note in notes] == ["ansible_ssh_common_args", "ansible_ssh_pass"]
    assert "tok-EXAMPLE" not in " ".join(notes)


def test_systems_and_shell_may_come_from_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, {"hosts": "a\n"})
    (target,) = load_inventory(tmp_path, overrides={"fleet_systems": "env,x"}).targets
    assert target.systems == ("env", "x")


@pytest.mark.parametrize(
    "written, value",
    [
        ("yes", "yes"),
        ("True", True),
        ("None", None),
        ("22", 22),
        ("0123", "0123"),
        ("8765:55", "8765:55"),
        ("'22'", "22"),
        ("['a', 1]", ["a", 1]),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("[broken", "[broken"),
        (r"['\d']", [r"\d"]),
        ("{1j}", "{1j}"),
        ("[" * 500, "[" * 500),
        ("", ""),
    ],
)
def test_values_in_ini(written: str, value: object) -> None:
    assert ini_value(written) == value


@pytest.mark.parametrize(
    "name, names",
    [
        ("a", ["a"]),
        ("a[1:3]", ["a1", "a2", "a3"]),
        ("a[08:11]b", ["a08b", "a09b", "a10b", "a11b"]),
        ("[a:c].x", ["a.x", "b.x", "c.x"]),
        ("a[1:5:2]", ["a1", "a3", "a5"]),
        ("a[1:2]-[x:y]", ["a1-x", "a1-y", "a2-x", "a2-y"]),
        ("a[0:1]", ["a0", "a1"]),
    ],
)
def test_ranges(name: str, names: list[str]) -> None:
    assert expanded(name, Place("f")) == names


@pytest.mark.parametrize("name", ["a[3:1]", "a[a:3]", "a[aa:bb]", "a[1:3:0]", "a[0:99999]"])
def test_wrong_ranges(name: str) -> None:
    with pytest.raises(InventoryError):
        expanded(name, Place("f"))
