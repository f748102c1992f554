"""Bringing artifacts: what is desired, the plan, the script that carries it out. Pure."""
