"""Of an INI file only the names of its sections: what stands in them may be a secret."""

import re

MOST = 500
_SECTION = re.compile(r"^[ \t\f\v]*\[([^\]\n]*)\]", re.MULTILINE)


def sections_in(content: bytes) -> tuple[str, ...]:
    """Return the names of the sections, as they are written between the brackets."""
    text = content.decode("utf-8", "backslashreplace").replace("\r", "")
    return named("\n".join(_SECTION.findall(text)))


def named(lines: str) -> tuple[str, ...]:
    """Return names that stand one in a line, without what is no name, and no more than MOST."""
    names = (line.strip() for line in lines.split("\n"))
    return tuple(dict.fromkeys(n for n in names if n and n.isprintable()))[:MOST]
