"""The MCP server, hosted in the faces process; the pump that a host starts is `hooks/mcp_pump.py`."""
