"""The commands; the only place that knows click, rich and exit codes."""
