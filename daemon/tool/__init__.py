"""Owns MCP servers: which are configured, which a person approved, and what tools they have."""
