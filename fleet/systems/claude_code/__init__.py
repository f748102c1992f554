"""Claude Code: the registration of the palace."""
