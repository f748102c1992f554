"""The reverse proxy in front of the shared palace."""
