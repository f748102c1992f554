"""The system ``pi-mcp``: MCP servers in a session of pi, and who owns them."""
