"""Whether pi trusts a project: only then it reads what lies in the project's ``.pi`` folder.

From ``docs/security.md`` and ``trust-manager.js`` of pi 1.6.0: in ``trust.json`` of the agent
folder the decision closest to the project applies, by the name that the folder has without links.
Where none is kept, ``defaultProjectTrust`` of the user's settings does; by default pi asks its
user, and where nobody can be asked it does without. What an extension says is not seen.
"""

import posixpath

from fleet.dataclass import dataclass
from fleet.facts.jsontext import read_json
from fleet.verifier.json_files import json_files
from fleet.verifier.look import Look

DEFAULT = "defaultProjectTrust"


@dataclass(frozen=True, slots=True)
class Trust:
    """What pi makes of a project.

    Attributes:
        trusted: whether it is trusted; None where that is not known.
        why: why it is not known.
    """

    trusted: bool | None
    why: str = ""


def project_trust(look: Look) -> Trust:
    """Tell whether pi trusts the project that the system looks at."""
    for file in json_files(look, ("trust",), comments=False):
        if file.document is None:
            return Trust(None, f"{file.fact.path}: {file.unread or file.broken}")
        decided = _closest(look, file.document)
        if decided is not None:
            return Trust(decided)
    default = _default(look)
    if default in ("always", "never"):
        return Trust(default == "always")
    return Trust(None, "pi asks its user first whether to trust the project")


def _closest(look: Look, decisions: dict[str, object]) -> bool | None:
    project = look.artifact("project")
    folder = (project.final or project.absolute) if project else ""
    while folder:
        decided = decisions.get(folder)
        if isinstance(decided, bool):
            return decided
        above = posixpath.dirname(folder)
        folder = above if above != folder else ""
    return None


def _default(look: Look) -> object:
    content = look.content(look.artifact("settings"))
    try:
        settings = read_json(content or b"null")
    except (ValueError, RecursionError):
        return None
    return settings.get(DEFAULT) if isinstance(settings, dict) else None
