"""The pi extension that gives the agent its palace."""
