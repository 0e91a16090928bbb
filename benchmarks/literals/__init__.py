"""Search for exact text: how often strings and names of 16 repositories are found in their source."""
