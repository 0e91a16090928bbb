"""What one conversation keeps: its items, its context sets, and what was used for each of its requests."""
