"""mempalace's own programs on a machine: which copy a launch finds, and what it reads."""
