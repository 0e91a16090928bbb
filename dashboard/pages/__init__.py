"""The pages, one a file, and what they are made of."""
