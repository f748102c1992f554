"""A group of commands whose modules are imported when they are asked for, and not before."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

import click


class LazyGroup(click.Group):
    """A click group that knows its commands by ``module:attribute``, in the order told."""

    def __init__(self, *args: Any, lazy: Mapping[str, str], **options: Any) -> None:  # noqa: ANN401 - click's own signature is passed on
        super().__init__(*args, **options)
        self.lazy = dict(lazy)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return all names, in the order in which a user meets them."""
        return [*self.lazy, *(name for name in self.commands if name not in self.lazy)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None where there is none of that name."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.lazy[cmd_name].partition(":")
        return cast("click.Command", getattr(import_module(module), attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a command line; a mistyped name is told its nearest neighbour."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            near = get_close_matches(name, self.list_commands(ctx), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


Guard = Callable[[Callable[[], object]], int]


class GuardedGroup(LazyGroup):
    """The outermost group: whatever happens inside ends as an exit code, never as a traceback."""

    def __init__(self, *args: Any, guard: Guard, **options: Any) -> None:  # noqa: ANN401 - click's own signature is passed on
        super().__init__(*args, **options)
        self.guard = guard

    def main(  # type: ignore[override]  # one signature for what click splits by a flag's value
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,  # noqa: ANN401 - click's own signature
    ) -> object:
        """Run as a program: ends the process with fleet's exit codes instead of click's."""
        run = super().main
        if not standalone_mode:
            return run(args, prog_name, complete_var, standalone_mode=False, **extra)
        raise SystemExit(
            self.guard(lambda: run(args, prog_name, complete_var, standalone_mode=False, **extra))
        )
