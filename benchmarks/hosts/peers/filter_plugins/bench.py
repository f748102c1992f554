"""What the playbooks make of texts, as filters."""

import judged


class FilterModule:
    def filters(self):
        names = ("parsed", "marked", "whole", "synced", "seen", "owned", "fits", "exported")
        names += ("assigned", "declared", "identified", "feeding", "package_of", "at_least")
        names += ("node_suits", "settled", "maintained", "equipped", "local")
        return {f"bench_{name}": getattr(judged, name) for name in names} | {
            "bench_fits_both": lambda both: judged.fits(*both),
            "bench_truths": truths,
        }


def truths(told):
    """Return every check's answer, from what the one shell task printed."""
    parts = {}
    for part in told.split("\n=== ")[1:]:
        name, _, text = part.partition("\n")
        parts[name] = text.strip("\n")
    return _of_bridge(parts) | _of_launch(parts) | _of_processes(parts)


def _of_bridge(parts):
    found = parts["markers"].splitlines()
    settings = parts.get("file settings")
    hiders = {name: parts.get(f"hider {name}") for name in judged.HIDERS}
    files = [name for name in judged.FILES if parts.get(f"file {name}")]
    registrations = [parts.get(f"registration {path}") for path in judged.REGISTRATIONS]
    markers = judged.marked("\n".join(found))
    scheduled = judged.HELPER in parts["timers"] + parts["crontab"]
    feeds = markers["feed"] and judged.feeding(judged.exported(parts["exported"]))
    return {
        **markers,
        "placed": parts["link"] == judged.BRIDGE,
        "whole": judged.whole(parts["sum"].partition(" ")[0]),
        "sync": judged.synced(parts["token"], parts["other"]),
        "seen": judged.seen(parts["names"].splitlines(), hiders, settings),
        "single": not judged.owned(registrations),
        "fallback": feeds and not scheduled,
        "settings": all(
            judged.fits(parts[f"file {name}"], parts.get(f"schema {name}")) for name in files
        ),
        "writable": "writable" in parts,
    }


def _of_launch(parts):
    exported = judged.exported(parts["exported"])
    package = judged.parsed(parts["package"])
    return {
        "env-file": judged.declared(judged.assigned(parts["env"])),
        "env-mode": parts["mode"] == "600",
        "env-loaded": judged.declared(exported),
        "identity": judged.identified(exported),
        "feed-on": judged.feeding(exported) and "helper" in parts,
        "pi": judged.maintained(parts["pi"].splitlines(), package),
        "events": judged.settled(package),
        "node": judged.node_suits(parts["node"], package),
        "prereqs": judged.equipped(parts["programs"].splitlines()),
    }


def _of_processes(parts):
    environs = {
        name.removeprefix("environ "): judged.exported(text)
        for name, text in parts.items()
        if name.startswith("environ ")
    }
    remote = [pid for pid, held in environs.items() if held.get("MEMPALACE_REMOTE_URL")]
    return {
        "running": all(map(judged.declared, environs.values())),
        "no-local": not judged.local(parts["processes"].splitlines(), remote),
    }
