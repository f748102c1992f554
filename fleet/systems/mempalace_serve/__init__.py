"""The shared palace's server."""
