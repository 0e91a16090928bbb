"""The MCP server, hosted in the web process; the pump that a host starts is `hooks/mcp_pump.py`."""
