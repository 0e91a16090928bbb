"""Owns items at the agent level: where they come from, and which of them a message is about."""
