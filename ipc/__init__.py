"""The wire: framing, errors, clients and the socket server."""
