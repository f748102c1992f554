"""Compile a request into the one program that answers it on a target."""

from fleet.facts.request import Request


def probe_script(request: Request) -> str:
    """Return a POSIX shell program that answers ``request``; it is read from the stdin of ``sh``.

    Raises:
        UsageError: the request asks for something that cannot be asked (a relative path, a name
            that is none).
    """
    raise NotImplementedError
