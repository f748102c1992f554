"""Further MCP clients: the registration of the palace."""
