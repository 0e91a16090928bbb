"""Items, instruction files and tools of MCP servers, and which of them a message is about."""
