"""The fleet as a whole, through the commands: told, counted, decided, waived."""

from support.homes import Homes


def twins(homes: Homes, *, more: str = "") -> None:
    """Give two machines one device's name."""
    text = homes.inventory.read_text().replace("device: two", "device: one")
    homes.inventory.write_text(text + more)
    homes.run("provision", "--yes", "--limit", "one,two")


def waiver(until: str) -> str:
    told = f"targets: fleet, reason: they are merged, until: {until}"
    return f"waivers:\n  - {{gate: fleet.devices, {told}}}\n"


def test_a_shared_device_is_a_required_failure_of_the_fleet(homes: Homes) -> None:
    twins(homes)
    code, found = homes.audit("--limit", "one,two")
    told = found["fleet", "fleet.devices"]
    assert code == 2
    assert (told["verdict"], told["required"], told["system"]) == ("fail", True, "fleet")
    assert "one: one, two" in str(told["evidence"])
    assert found["machines", "fleet.skew"]["verdict"] == "not-applicable"
    _, text = homes.run("audit", "--limit", "one,two")
    assert "fleet   fleet.devices   FAIL" in text


def test_of_the_whole_fleet_a_part_that_is_not_seen_is_told(homes: Homes) -> None:
    homes.run("provision", "--yes")
    text = homes.inventory.read_text()
    homes.inventory.write_text(
        text.replace(f"local: {homes.home('two')}", "ssh: u@nowhere.invalid")
    )
    _, found = homes.audit()
    for target, gate in (("fleet", "fleet.devices"), ("machines", "fleet.skew")):
        told = found[target, gate]
        assert (told["verdict"], told["message"]) == ("not-checked", "3 of 4 targets seen")


def test_it_can_be_waived_until_a_day(homes: Homes) -> None:
    twins(homes, more=waiver("2999-12-31"))
    _, found = homes.audit("--limit", "one,two")
    assert found["fleet", "fleet.devices"]["verdict"] == "waived"
    homes.inventory.write_text(homes.inventory.read_text().replace("2999-12-31", "2001-01-01"))
    code, text = homes.run("audit", "--limit", "one,two")
    assert code == 2
    assert "the waiver ran out on 2001-01-01: they are merged" in text


def test_one_target_alone_is_asked_nothing_of_the_fleet(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    _, found = homes.audit("--limit", "one")
    assert {target for target, _ in found} == {"one"}


def test_what_a_batch_of_a_playbook_saw_is_not_told_as_the_fleet(homes: Homes) -> None:
    twins(homes)
    play = homes.folder / "play.yml"
    play.write_text("- name: all\n  targets: one,two\n  systems: [env, mempalace-bridge]\n")
    _, text = homes.run("provision", str(play), "--yes")
    assert "2 targets asked, 2 answered" in text
    assert "fleet.devices" not in text


def test_a_palace_that_answers_nowhere_is_not_said_to_be_cut_off_from_one_place(
    homes: Homes,
) -> None:
    text = homes.inventory.read_text()
    serves = "groups:\n  palace:\n   systems: [mempalace-serve]\n   hosts:\n"
    vault = f"    vault: {{local: {homes.home('four')}}}\n"
    homes.inventory.write_text(text.replace("groups:\n", serves + vault))
    _, found = homes.audit("--limit", "one,vault")
    told = found["fleet", "fleet.reach"]
    assert told["verdict"] == "not-checked", told
    assert "answers nowhere" in str(told["message"])
    assert "controller: want not declared, got refused" in str(told["evidence"])


def test_one_bridge_among_others_is_told_where_it_is(homes: Homes) -> None:
    homes.run("provision", "--yes")
    _, found = homes.audit()
    assert found["machines", "fleet.skew"]["verdict"] == "pass", found["machines", "fleet.skew"]
    bridge = homes.home("two") / "mempalace-toolkit/extensions/pi/mempalace.ts"
    bridge.write_text(bridge.read_text() + "// by hand\n")
    _, found = homes.audit()
    told = found["machines", "fleet.skew"]
    assert (told["verdict"], told["message"]) == ("warn", "2 different bridges on 4 targets")
    silent = found["fleet", "fleet.palace"]  # nothing answers at the URL of all four
    assert (silent["verdict"], silent["message"]) == ("not-checked", "0 of 4 targets seen")
