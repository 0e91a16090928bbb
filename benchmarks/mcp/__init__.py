"""What MCP costs a host: the pump's start, and each answer beside the daemon's own."""
