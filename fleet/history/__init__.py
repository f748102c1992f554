"""Runs kept and compared: what was seen, when, and what became of it."""
