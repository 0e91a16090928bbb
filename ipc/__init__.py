"""The wire protocol: framing, errors, clients and the socket server."""
