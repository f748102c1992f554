"""What an image says of itself, held against what is meant."""

from fleet.facts.platforms import runs
from fleet.facts.text import printable
from fleet.systems.image.baked import NO_IMAGE
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed, warned

_WAYS = {
    "overlay2": "the folders of its layers",
    "api": "a container that was never started",
    "save": "the archive that the engine saves",
}


def user(look: Look) -> Judgement:
    """The home that paths are looked for under is that of a user whom the image knows."""
    platform = look.facts.platform
    home = printable(f"{platform.home}, by {platform.rule}")
    if look.facts.image is None:
        return not_checked("no configuration says who runs pi", f"`~` is {home}")
    told = look.facts.image.user
    given = look.text("user")
    source = "the variable `user`" if given else "USER"
    named = printable(given or told)
    if platform.uid is None:
        return failed(f"{source} is {named}, whom its passwd does not know", f"`~` is {home}")
    if platform.uid == 0:
        why = f"{source} is {named}" if named else "no USER is set"
        return warned(f"pi runs as root: {why}", f"`~` is {home}")
    if not platform.user:
        return warned(f"{source} is {named}, and its passwd does not know it", f"`~` is {home}")
    return passed(f"pi runs as {printable(platform.user)}, `~` is {home}")


def date(look: Look) -> Judgement:
    """Shown and no more: a build may say any date, and a tag be put on any image."""
    image = look.facts.image
    if image is None:
        return not_applicable(NO_IMAGE)
    said = f"it says it was created on {printable(image.created)}" if image.created else ""
    read = f"it was read from the engine at {image.engine}, by {_WAYS.get(image.way, image.way)}"
    return passed(
        f"{said or 'it says no date'}; that decides nothing",
        f"{look.facts.address} is {image.id}" if image.id else look.facts.address,
        *([printable(read)] if image.engine else []),
        *(printable(f"a quicker way was passed over, {why}") for why in image.passed_over),
    )


def arch(look: Look) -> Judgement:
    """The platform of what was judged is the declared one, else that of the machine that looked."""
    image = look.facts.image
    if image is None:
        return not_applicable(NO_IMAGE)
    if not image.platform:
        return not_checked("the image does not say which platform it is for")
    there = printable(image.platform)
    others = [printable(p) for p in image.among if p != image.platform]
    beside = [f"not judged: {', '.join(others)}"] if others else []
    declared = look.text("platform")
    if declared and not runs(image.platform, declared):
        return failed(f"is for {there}, and {printable(declared)} is declared", *beside)
    if declared:
        return passed(f"is for {there}, as declared", *beside)
    asked = printable(image.asked)
    if asked and not runs(image.platform, asked):
        return warned(f"is for {there}, and was looked at on {asked}", *beside)
    return passed(f"is for {there}", *beside)
