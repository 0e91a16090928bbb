"""The settings: every key, the two files that set them, and what is said of wrong ones."""
