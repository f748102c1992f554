"""Fleet-wide rules: what no target can tell alone. Pure functions over the members of a run."""
