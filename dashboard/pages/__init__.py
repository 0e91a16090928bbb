"""The pages, one a file, and what several of them share."""
