"""One module a command, imported when the command is asked for."""
