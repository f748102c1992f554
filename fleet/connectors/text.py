"""What a target or a local program said, made fit for one line of an error."""

ERROR_LINE = 240


def one_line(said: bytes | str, limit: int = ERROR_LINE, *, last: bool = False) -> str:
    """Return a line that says something, control characters escaped, cut to ``limit``.

    The first such line, or the last: what a shell says comes after what its start-up files say.
    """
    text = said.decode("utf-8", "backslashreplace") if isinstance(said, bytes) else said
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    shown = "".join(map(_visible, lines[-1 if last else 0]))
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
