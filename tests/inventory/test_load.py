"""From files to targets: the sketch, precedence, merging, references, and the time it takes."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.places import ROOT

from fleet.errors import InventoryError, Place
from fleet.inventory.inventory import Inventory
from fleet.inventory.known import Known
from fleet.inventory.load import load_inventory
from fleet.inventory.model import Address, Become, Kind, Scheme, SecretRef, Target
from fleet.inventory.overrides import read_overrides
from fleet.inventory.problems import InventoryProblems
from fleet.systems.catalogue import load_catalogue

SKETCH = """\
# inventory/fleet.yml
vars: {toolkit: ~/mempalace-toolkit, palace_url: https://palace.example.net/mcp, palace_token: \
!secret env:PALACE_TOKEN}
groups:
  workstations:
    systems: [pi-toolkit, env, mempalace-bridge]
    require: [feed, stamp, mailbox]
    hosts:
      laptop: {ssh: me@laptop.example.net, shell: zsh -ic, vars: {device: laptop}}
  palace:
    systems: [mempalace-serve]
    hosts: {vault: {ssh: vault, become: true, vars: {bind: docker0}}}
containers: {devbox: {container: pi-devbox, systems: [mempalace-bridge], require: [feed]}}
images: {devbox-image: {image: "docker-daemon:pi-devbox:latest", systems: [mempalace-bridge], \
require: [feed, stamp]}}
"""


def loaded(folder: Path, text: str, **options: object) -> Inventory:
    file = folder / "fleet.yml"
    file.write_text(text, encoding="utf-8")
    return load_inventory(file, **options)  # type: ignore[arg-type]  # passed on as they are


def only(inventory: Inventory) -> Target:
    (target,) = inventory.targets
    return target


def test_the_sketch_loads_as_it_stands(tmp_path: Path) -> None:
    inventory = loaded(tmp_path, SKETCH)
    assert [t.name for t in inventory.targets] == ["laptop", "vault", "devbox", "devbox-image"]
    laptop, vault, devbox, image = inventory.targets
    assert laptop.address == Address(Scheme.SSH, "laptop.example.net", "me")
    assert laptop.systems == ("pi-toolkit", "env", "mempalace-bridge")
    assert laptop.require == ("feed", "stamp", "mailbox")
    assert laptop.groups == ("workstations",)
    assert laptop.launches == ("zsh -ic",)
    assert laptop.variables == {
        "toolkit": "~/mempalace-toolkit",
        "palace_url": "https://palace.example.net/mcp",
        "palace_token": SecretRef("env", "PALACE_TOKEN"),
        "device": "laptop",
    }
    assert laptop.place == Place(str(tmp_path / "fleet.yml"), 8, 7)
    assert vault.become == Become("root")
    assert vault.launches == ("sh -lc",)
    assert (devbox.kind, devbox.address.name) == (Kind.CONTAINER, "pi-devbox")
    assert image.address == Address(Scheme.DOCKER_DAEMON, "pi-devbox:latest")
    assert image.launches == ("container",)
    assert inventory.groups["all"] == ("laptop", "vault", "devbox", "devbox-image")
    assert inventory.groups["palace"] == ("vault",)


def test_the_example_fleet_loads_against_the_catalogue() -> None:
    known = Known.of(load_catalogue().systems)
    inventory = load_inventory(ROOT / "inventory", known=known)
    here, sample = inventory.targets
    assert here.address == Address(Scheme.LOCAL, "")
    assert Path(sample.address.name, "root/.pi/agent/extensions/mempalace.ts").is_file()
    assert inventory.notes == ()


PRECEDENCE = """\
vars: {a: all, b: all, c: all, d: all, whole: {x: 1, y: 2}}
groups:
  outer:
    vars: {b: outer, c: outer, d: outer, whole: {z: 3}}
    groups:
      inner:
        vars: {c: inner, d: inner}
        hosts: {h: {vars: {d: target}}}
"""


def test_the_nearer_word_wins_and_replaces_the_whole_value(tmp_path: Path) -> None:
    inventory = loaded(tmp_path, PRECEDENCE)
    assert only(inventory).variables == {
        "a": "all",
        "b": "outer",
        "c": "inner",
        "d": "target",
        "whole": {"z": 3},
    }
    origins = inventory.origins["h"]
    assert str(origins["a"]) == f"all targets, {tmp_path}/fleet.yml:1:8"
    assert str(origins["b"]).startswith("group outer, ")
    assert str(origins["c"]).startswith("group inner, ")
    assert str(origins["d"]) == f"target, {tmp_path}/fleet.yml:8:28"


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    inventory = loaded(tmp_path, PRECEDENCE, overrides={"d": "line", "e": "new"})
    assert only(inventory).variables["d"] == "line"
    assert only(inventory).variables["e"] == "new"
    assert str(inventory.origins["h"]["d"]) == "command line"


def test_depth_decides_before_the_name_and_the_name_among_equals(tmp_path: Path) -> None:
    text = """\
groups:
  z: {vars: {a: z, b: z}, hosts: {h: }}
  y: {vars: {a: y}, groups: {m: {vars: {b: m}, hosts: {h: }}}}
"""
    target = only(loaded(tmp_path, text))
    assert target.groups == ("y", "z", "m")
    assert target.variables == {"a": "z", "b": "m"}


def test_systems_and_requirements_add_up_in_order_without_repeats(tmp_path: Path) -> None:
    text = """\
systems: [a]
groups:
  outer:
    systems: [b, a]
    require: feed
    groups: {inner: {systems: c, require: [stamp, feed], hosts: {h: {systems: [b, d]}}}}
"""
    target = only(loaded(tmp_path, text))
    assert target.systems == ("a", "b", "c", "d")
    assert target.require == ("feed", "stamp")


def test_a_group_and_a_host_may_be_mentioned_again(tmp_path: Path) -> None:
    text = """\
groups:
  web: {hosts: {a: {ssh: me@a}, b: }}
  prod: {groups: {web: }, hosts: {a: , b: }}
"""
    inventory = loaded(tmp_path, text)
    a, b = inventory.targets
    assert a.groups == ("prod", "web")
    assert b.address == Address(Scheme.SSH, "b")
    assert inventory.groups["prod"] == ("a", "b")


def test_the_files_of_a_folder_are_one_inventory(tmp_path: Path) -> None:
    files = {
        "b.yml": "groups: {web: {vars: {x: 1}, hosts: {a: }}}\n",
        "a.yaml": "vars: {y: 2}\ngroups: {web: {systems: [env], hosts: {b: }}}\n",
        ".hidden.yml": "nonsense: true\n",
        "notes.txt": "not: an inventory",
        "group_vars/web.yml": "x: 7\nz: '{{ x }}{{ y }}'\n",
        "host_vars/a/one.yml": "only: a\n",
        "group_vars/.web.yml.swp": "x: 8",
        "group_vars/web.yml~": "x: 9",
        "host_vars/nobody.yml": "x: 1\n",
        "sub/c.yml": "nonsense: true\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    inventory = load_inventory(tmp_path)
    b, a = inventory.targets
    assert a.variables == {"x": 7, "y": 2, "z": "72", "only": "a"}
    assert (b.systems, b.variables["z"]) == (("env",), "72")
    assert str(inventory.origins["a"]["x"]) == f"group web, {tmp_path}/group_vars/web.yml:1:1"
    assert [Path(s).name for s in inventory.sources] == ["a.yaml", "b.yml", "web.yml", "one.yml"]
    assert inventory.notes == (f"{tmp_path}/host_vars/nobody.yml is of no target here",)


def test_values_refer_to_one_another(tmp_path: Path) -> None:
    text = """\
vars:
  home: /srv
  path: "{{ home }}/pi"
  deep: {list: ["{{ path }}/a", 1.10], text: "{{ missing | default('none') }}"}
  same: "{{ deep }}"
  token: !secret env:PALACE_TOKEN
  alias: "{{ token }}"
  header: "Bearer {{ token }}"
  version: 1.10
  told: "v{{ version }} of {{ inventory_hostname }} in {{ group_names | join('+') }}"
  default: "{{ env_file }}"
systems: [env]
groups: {web: {hosts: {h: }}}
"""
    known = Known({"env": ()}, defaults={"env": {"env_file": "~/.env"}})
    variables = only(loaded(tmp_path, text, known=known)).variables
    deep = {"list": ["/srv/pi/a", 1.1], "text": "none"}
    assert variables["deep"] == variables["same"] == deep
    assert variables["alias"] == SecretRef("env", "PALACE_TOKEN")
    assert variables["header"] == "Bearer \ue000env:PALACE_TOKEN\ue001"
    assert variables["told"] == "v1.10 of h in web"
    assert variables["default"] == "~/.env"
    assert "env_file" not in variables


@pytest.mark.parametrize(
    "text",
    [
        "{{ cycler() }}",
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{{ [][1] }}",
        "{{ {}['a'] }}",
        "{{ 'a'.__class__ }}",
        "{{ 9 ** 9 ** 9 }}",
        "{{ 'a' * 2000000 }}",
        "{{ 2000000 * [1] }}",
        "{{ '(' is match('(') }}",
        "{{ 1 is nonsense }}",
        "{{ 1 | nonsense }}",
        "{% include 'x' %}",
        "{{ " + "(" * 5000,
        "{{ " + "9" * 5000 + " }}",
        "{{ }}",
        "{% if %}",
    ],
)
def test_a_template_that_cannot_be_rendered_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match=r"fleet\.yml:1:8: "):
        loaded(tmp_path, f'vars: {{a: "{text}"}}\nhosts: {{h: }}\n')


def test_variables_that_refer_far_are_refused(tmp_path: Path) -> None:
    chain = "".join(f"  v{i}: '{{{{ v{i + 1} }}}}'\n" for i in range(60))
    with pytest.raises(InventoryError, match="more than 40 other variables"):
        loaded(tmp_path, f"vars:\n{chain}  v60: end\nhosts: {{h: }}\n")


def test_unsafe_text_is_taken_as_it_stands(tmp_path: Path) -> None:
    text = "vars: {a: !unsafe '{{ b }}'}\nhosts: {h: }\n"
    assert only(loaded(tmp_path, text)).variables == {"a": "{{ b }}"}


def test_addresses_are_rendered_and_paths_count_from_the_file(tmp_path: Path) -> None:
    text = """\
vars: {domain: example.net, token: !secret file:tokens/palace}
hosts:
  a: {ssh: "me@a.{{ domain }}:2222", identity: keys/a}
  b: {local: homes/b}
  c: {rootfs: roots/c}
images: {d: {image: "oci:layout:latest"}}
"""
    a, b, c, d = loaded(tmp_path, text).targets
    assert a.address == Address(Scheme.SSH, "a.example.net", "me", 2222)
    assert a.identity == f"{tmp_path}/keys/a"
    assert b.address == Address(Scheme.LOCAL, f"{tmp_path}/homes/b")
    assert (c.address.name, c.kind) == (f"{tmp_path}/roots/c", Kind.IMAGE)
    assert d.address == Address(Scheme.OCI, f"{tmp_path}/layout", tag="latest")
    assert a.variables["token"] == SecretRef("file", f"{tmp_path}/tokens/palace")


def test_numbers_serve_where_a_text_is_meant(tmp_path: Path) -> None:
    text = "containers: {a: {container: 1.10, systems: [0123]}}\nvars: {v: 1.10}\n"
    target = only(loaded(tmp_path, text))
    assert (target.address.name, target.systems) == ("1.10", ("0123",))
    assert str(target.variables["v"]) == "1.10"


def test_gates_of_ones_own_extend_the_catalogue(tmp_path: Path) -> None:
    text = """\
hosts: {h: {systems: [mempalace-bridge], require: [mine]}}
gates:
  - id: bridge.mine
    gives: mine
    marker: {in: bridge, all: [MY_WORD]}
    since: {commit: 1234567}
    remedy: rebuild
"""
    catalogue = load_catalogue()
    inventory = loaded(tmp_path, text, known=Known.of(catalogue.systems))
    ((system, gate),) = inventory.gates
    assert system == "mempalace-bridge"
    assert gate.marker is not None
    assert gate.marker.all == ("MY_WORD",)
    extended = catalogue.extended(inventory.gates)
    assert extended.gate("bridge.mine")[1].since == gate.since


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InventoryProblems) as caught:
        loaded(tmp_path, "hosts: {a: {sssh: x}}\nimages: {b: {image: [a]}}\nvarz: 1\n")
    assert [p.place.line for p in caught.value.problems if p.place] == [1, 2, 3]


@pytest.mark.parametrize("name", ["none.yml", "folder", "bad\0name"])
def test_what_cannot_be_read_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InventoryError):
        load_inventory(tmp_path / name)


def test_a_misspelt_file_is_told_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text("hosts: {a: }\n", encoding="utf-8")
    with pytest.raises(InventoryError, match=r"did you mean .*fleet\.yml\?"):
        load_inventory(tmp_path / "flet.yml")


def test_variables_of_the_command_line() -> None:
    assert read_overrides(["a=1", "b=x=y", "c=", "d=!secret env:T"]) == {
        "a": "1",
        "b": "x=y",
        "c": "",
        "d": SecretRef("env", "T"),
    }
    for wrong in ("a", "=b", "a-b=c", "a=!secret tok"):
        with pytest.raises(InventoryError):
            read_overrides([wrong])


def test_a_thousand_hosts_load_in_time(tmp_path: Path) -> None:
    hosts = "".join(
        f"      host{i}: {{ssh: me@h{i}.example.net, shell: zsh -ic, vars: {{device: h{i}}}}}\n"
        for i in range(1000)
    )
    shared = "    vars: {a: 1, b: '{{ a }}-{{ device }}', c: [1, '{{ b }}']}\n    systems: [env]\n"
    began = time.process_time()
    inventory = loaded(tmp_path, f"groups:\n  g:\n{shared}    hosts:\n{hosts}")
    assert time.process_time() - began < 1.5
    assert inventory.targets[999].variables["c"] == [1, "1-h999"]


yaml_like = st.text("hostsgrupva:{}[]|>-!&*'\"# \n,.@x1~%{", max_size=80)
parts = st.sampled_from(
    ["hosts", "groups", "vars", "all", "children", "a", "{{ a }}", "ssh", "x@y:1", "image", "gates"]
)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | parts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(parts, inner, max_size=4),
    max_leaves=20,
)


@settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.sampled_from(["f.yml", "f.ini", "hosts"]), raw=st.binary() | yaml_like | trees)
def test_anything_loads_or_is_refused_in_words(name: str, raw: object, tmp_path: Path) -> None:
    content = raw if isinstance(raw, bytes) else str(raw).replace("None", "null").encode()
    (tmp_path / name).write_bytes(content)
    try:
        inventory = load_inventory(tmp_path / name)
    except InventoryError as error:
        assert error.what  # noqa: PT017 - both outcomes are right, each in its way
    else:
        assert inventory.targets


def test_a_waiver_names_its_targets(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(
        "groups:\n  machines:\n    systems: mempalace-bridge\n    hosts: {a: , b: }\n"
        "hosts: {c: {systems: env}}\n"
        "waivers:\n"
        "  - {gate: bridge.feed, targets: [all, '!b'], reason: so, until: 2026-12-24}\n"
        "  - {gate: fleet.skew, targets: machines, reason: so, until: 2026-12-25}\n"
    )
    known = Known(
        {"env": (), "mempalace-bridge": ("feed",)},
        gates={"mempalace-bridge": ("bridge.feed",), "": ("fleet.skew",)},
    )
    one, other = load_inventory(tmp_path, known=known).waivers
    assert (one.gate, one.targets, str(one.until)) == ("bridge.feed", ("a",), "2026-12-24")
    assert other.targets == ("machines",)
