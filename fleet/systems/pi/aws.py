"""Where a Bedrock provider gets its credentials: a key in the environment, or a profile of a file.

Of the files only the names of their sections are read. ``config`` names a profile
``[profile NAME]``, ``credentials`` ``[NAME]``; the default one is ``[default]`` in both.
"""

import posixpath

from fleet.facts.paths import State
from fleet.facts.running import LaunchFact
from fleet.verifier.launches import Unseen, text, value
from fleet.verifier.look import Look

BEDROCK = "amazon-bedrock"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK")
PROFILE = "AWS_PROFILE"
_FILES = (
    ("aws-config", "AWS_CONFIG_FILE", "profile "),
    ("aws-credentials", "AWS_SHARED_CREDENTIALS_FILE", ""),
)


def no_credentials(look: Look, launch: LaunchFact) -> list[str]:
    """Say why a launch finds no credentials for Bedrock; nothing where it does."""
    if any(value(launch, name).length for name in KEYS):
        return []
    if not value(launch, PROFILE).length:
        names = ", ".join((PROFILE, *KEYS))
        return [f"the provider is {BEDROCK}, and none of {names} is set"]
    profile = text(launch, PROFILE)
    unseen: list[str] = []
    files: list[str] = []
    for artifact, variable, prefix in _FILES:
        fact = look.artifact(artifact)
        elsewhere = text(launch, variable)
        if fact is None or (elsewhere and posixpath.normpath(elsewhere) != fact.absolute):
            unseen.append(Unseen(f"the profile {profile!r}: {elsewhere or artifact} was not read"))
        elif fact.sections is not None:
            files.append(fact.path)
            if {f"{prefix}{profile}", profile if profile == "default" else ""} & {*fact.sections}:
                return []
        elif fact.state is State.ABSENT:
            files.append(fact.path)
        else:
            why = fact.why or fact.state.value
            unseen.append(Unseen(f"the profile {profile!r}: {fact.path}: {why}"))
    if unseen:
        return unseen
    return [f"{PROFILE} is {profile!r}, and neither {' nor '.join(files)} has that profile"]
