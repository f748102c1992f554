"""Why a host key is refused, and what to do about it, in words."""

import shlex

from fleet.connectors.known_hosts import Judgement, Trust, fingerprint
from fleet.connectors.ssh_config import DEFAULT_PORT, SshSettings
from fleet.connectors.text import one_line
from fleet.errors import Unreachable


def distrust(
    hop: SshSettings, judgement: Judgement, key_type: str, blob: bytes, where: str
) -> Unreachable:
    """Say why a host key is refused, and what to do."""
    offered = f"{one_line(key_type)} {fingerprint(blob)}"
    name = hop.key_names[0]
    if judgement.trust is Trust.REVOKED:
        places = _places(judgement)
        return Unreachable(
            f"the host key is revoked: it offers {offered}, revoked in {places}",
            stage="host-key",
            where=where,
            hint="do not connect; ask who revoked it",
        )
    if judgement.trust is Trust.CHANGED:
        known = judgement.because[0]
        held = f"{one_line(known.type)} {known.fingerprint}"
        forget = ["ssh-keygen", "-R", name, "-f", known.file]
        return Unreachable(
            f"the host key has changed: it offers {offered}, {_places(judgement)} says {held}",
            stage="host-key",
            where=where,
            hint=(
                "somebody may be in the middle. If the machine was rebuilt, forget the old key:\n"
                f"  {shlex.join(forget)}\n"
                f"  then connect once with ssh and compare: {_first_time(hop)}"
            ),
        )
    return _unknown(hop, judgement, offered, name, where)


def _unknown(
    hop: SshSettings, judgement: Judgement, offered: str, name: str, where: str
) -> Unreachable:
    notes = [f"connect once with ssh and compare the fingerprint: {_first_time(hop)}"]
    if not hop.hops and not hop.proxy_command and not hop.key_alias:
        file = hop.known_hosts[0] if hop.known_hosts else "~/.ssh/known_hosts"
        port = [] if hop.port == DEFAULT_PORT else ["-p", str(hop.port)]
        scan = shlex.join(["ssh-keyscan", *port, hop.hostname])
        notes.append(f"or, on a network you trust: {scan} >> {shlex.quote(file)}")
    if judgement.authority:
        notes.append("a @cert-authority is known for it; fleet does not check host certificates")
    return Unreachable(
        f"the host key is not known as {one_line(name)}: it offers {offered}",
        stage="host-key",
        where=where,
        hint="\n  ".join(notes),
    )


def _places(judgement: Judgement) -> str:
    return ", ".join(f"{key.file}:{key.line}" for key in judgement.because)


def _first_time(hop: SshSettings) -> str:
    words = ["ssh"] if hop.port == DEFAULT_PORT else ["ssh", "-p", str(hop.port)]
    return shlex.join([*words, f"{hop.user}@{hop.alias}"])
