"""opencode: the registration of the palace in its configuration."""
