"""``fleet completion``."""

import click

SHELLS = ("bash", "zsh", "fish")


HELP = """Print what makes a shell complete commands, options, targets, systems and gates.

\b
bash  fleet completion bash > ~/.local/share/bash-completion/completions/fleet
zsh   fleet completion zsh > a file _fleet in a folder of your $fpath
fish  fleet completion fish > ~/.config/fish/completions/fleet.fish"""


@click.command(help=HELP, short_help="Print the completion for your shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print what makes a shell complete commands, options, targets, systems and gates."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - lazy

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for {shell}")
    made = found(context.find_root().command, {}, "fleet", "_FLEET_COMPLETE")
    click.echo(made.source_template % made.source_vars())
    return 0
