"""The palace among opencode's servers, as opencode sees it once all files are merged."""

from collections.abc import Mapping

from fleet.systems.opencode.files import Configuration, configuration
from fleet.verifier.launches import over_launches
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.registrations import (
    OTHERS,
    declared_palace,
    exported,
    is_comparable,
    is_palace,
    lacks_program,
    literal_credentials,
    sends_credential,
)

_UNSEEN = "not everything could be seen: {}"


def palace(look: Look) -> Judgement:
    """The merged entry leads to the declared palace, is enabled, and is the only one."""
    found = configuration(look)
    name = look.text("opencode_server")
    files = [file.path for file in found.naming(name)]
    wrong = _wrong(look, found, name)
    unseen = [*found.unread, *_overridden(look)]
    if unseen:  # what was not seen may put right what is wrong here, and the other way round
        return not_checked(_UNSEEN.format(unseen[0]), *unseen, *wrong)
    if wrong:
        return failed("opencode does not reach the declared palace", *wrong)
    others = _others(look, found, name)
    if others:
        return warned("the palace is registered more than once", *others)
    folder = look.text("project_dir")
    told = f"as seen in {folder}" if folder else "as seen outside of projects"
    return passed(f"{name} leads to {declared_palace(look)}", *files, told)


def _wrong(look: Look, found: Configuration, name: str) -> list[str]:
    """Compare the merged entry with what is declared."""
    if not found.naming(name):
        elsewhere = [f.path for f in found.files if "mcpServers" in f.document]
        told = [f"{path}: `mcpServers` is not read by opencode; `mcp` is" for path in elsewhere]
        return [f"no file names a server {name!r}", *told]
    fields = found.entry(name)
    wrong = []
    if fields.get("enabled") is False:
        wrong.append(f"{found.deciding(name, 'enabled')} turns it off (`enabled: false`)")
    url = look.text("palace_url")
    key, wanted, held = (
        ("url", url, fields.get("url"))
        if url
        else ("command", declared_palace(look), _program(fields))
    )
    kind = "remote" if url else "local"
    if fields.get("type") != kind:
        where = found.deciding(name, "type")
        wrong.append(f"{where}: it is {fields.get('type')!r}, declared is a {kind} palace")
    elif held != wanted and (key != "url" or _compares(held)):
        wrong.append(f"{found.deciding(name, key)}: `{key}` is {held!r}, declared is {wanted!r}")
    return wrong


def _compares(url: object) -> bool:
    """Tell whether a URL can be compared here; one that may hold credentials did not travel."""
    return not isinstance(url, str) or is_comparable(url)


def _program(fields: Mapping[str, object]) -> str:
    command = fields.get("command")
    first = command[0] if isinstance(command, list) and command else ""
    return first if isinstance(first, str) else ""


def _overridden(look: Look) -> list[str]:
    """Tell of what goes over the files, or names further ones, and could not be looked into."""
    told = []
    for launch in look.launches():
        inline = launch.variables.get("OPENCODE_CONFIG_CONTENT")
        if inline and inline.set:
            told.append(f"{launch.launch}: OPENCODE_CONFIG_CONTENT goes over every file")
        for variable, name in _FURTHER.items():
            held = launch.variables.get(variable)
            if held and held.set and held.value != look.text(name):
                told.append(f"{launch.launch}: {variable} is {held.value!r}; declare it as {name}")
    url = configuration(look).entry(look.text("opencode_server")).get("url")
    if isinstance(url, str) and not _compares(url):
        told.append("the URL takes something from elsewhere, or may hold credentials")
    return told


_FURTHER = {"OPENCODE_CONFIG": "opencode_config", "OPENCODE_CONFIG_DIR": "opencode_config_dir"}


def _others(look: Look, found: Configuration, name: str) -> list[str]:
    """Tell of further servers that are enabled and a palace's."""
    told = []
    for other in found.names():
        fields = found.entry(other)
        url = fields.get("url")
        address = url if isinstance(url, str) else ""
        if other == name or fields.get("enabled") is False:
            continue
        if is_palace(other, address, _program(fields), {look.text("palace_url")} - {""}):
            told.append(f"{found.naming(other)[-1].path}: {other} is a palace too")
    return told


def command(look: Look) -> Judgement:
    """A local palace's program is there for every launch."""
    program = _program(_entry(look))
    if _entry(look).get("type") != "local" or not program:
        return not_applicable("the palace is remote: no program is started")
    return over_launches(
        look,
        lambda launch: lacks_program(look, launch, program),
        good=f"{program} is there",
        bad="opencode cannot start the palace's program",
    )


def variables(look: Look) -> Judgement:
    """Every launch exports each variable that the entry names."""
    return exported(look, [_entry(look)])


def token(look: Look) -> Judgement:
    """No file says a credential of the palace itself."""
    found = configuration(look)
    name = look.text("opencode_server")
    wrong = []
    for file in found.naming(name):
        held = file.servers[name]
        for where in literal_credentials(held) if isinstance(held, Mapping) else ():
            open_to = file.fact.mode is not None and file.fact.mode & OTHERS
            mode = f" (mode {file.fact.mode:04o}: others can read it)" if open_to else ""
            wrong.append(f"{file.path}: mcp.{name}.{where} is written out{mode}")
    if wrong:
        return failed("a credential stands in the configuration", *wrong)
    if found.unread:
        return not_checked(_UNSEEN.format(found.unread[0]), *found.unread)
    if not found.naming(name):
        return not_applicable("the palace is not registered")
    return passed("no credential stands in the configuration")


def oauth(look: Look) -> Judgement:
    """A static token and OAuth do not go together."""
    found = configuration(look)
    name = look.text("opencode_server")
    fields = _entry(look)
    if fields.get("type") != "remote" or not sends_credential(fields):
        unread = found.unread
        if unread:
            return not_checked(_UNSEEN.format(unread[0]), *unread)
        return not_applicable("no static token is sent")
    if fields.get("oauth") is False:
        return passed("OAuth is turned off, the static token is sent")
    where = found.deciding(name, "headers")
    told = "is not set" if "oauth" not in fields else "is not false"
    return warned(
        "a static token is sent, and OAuth is not turned off",
        f"{where}: mcp.{name}: `oauth` {told}",
        "a 401 that `opencode mcp` tells does not speak of this token; opencode.answers does",
    )


def _entry(look: Look) -> dict[str, object]:
    return configuration(look).entry(look.text("opencode_server"))
