"""Owns the record of requests: what was used and sent for each message, given back as it was."""
