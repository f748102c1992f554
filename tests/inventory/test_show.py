"""What a person is shown of a target: values, origins, and no secret."""

from pathlib import Path

from fleet.inventory.load import load_inventory
from fleet.inventory.show import show

TEXT = """\
vars:
  palace_token: !secret env:PALACE_TOKEN
  header: "Bearer {{ palace_token }}"
  mirror_password: tok-EXAMPLE-2
  nested: {api_key: tok-EXAMPLE-3, port: 1.10, "on": true, tokens: [tok-EXAMPLE-4]}
  none: ~
groups:
  web:
    systems: [env]
    require: [feed]
    hosts: {h: {ssh: me@h, become: true, vars: {odd: "a\\u0007b"}}}
"""


def test_a_target_is_shown_with_origins_and_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(TEXT, encoding="utf-8")
    inventory = load_inventory(tmp_path, overrides={"device": "x"})
    defaults = {"env": {"env_file": "~/.env", "device": "not-this"}}
    text = str(show(inventory, inventory.targets[0], defaults=defaults))
    assert "tok-EXAMPLE" not in text
    assert "\ue000" not in text
    assert "\x07" not in text
    for line in (
        "kind         host",
        "address      ssh://me@h",
        "become       root, by sudo -n",
        "palace_token: !secret env:PALACE_TOKEN",
        "header: Bearer !secret env:PALACE_TOKEN",
        "mirror_password: ***",
        "nested: {api_key: ***, port: 1.10, on: true, tokens: [***]}",
        "none: null",
        f"all targets, {tmp_path}/fleet.yml:2:3",
        f"target, {tmp_path}/fleet.yml:11:49",
        "device: x",
        "command line",
        "env_file: ~/.env",
        "default of env",
    ):
        assert line in text
    assert "not-this" not in text
