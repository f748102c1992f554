"""The pytest plugin: every gate of every target is a test, and a user's own tests get the facts."""
