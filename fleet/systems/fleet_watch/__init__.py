"""fleet itself, kept running by systemd."""
