"""The deep check: a target's own pi, run against a scratch palace and a fake model."""
