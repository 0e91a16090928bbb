"""The index of a project on disk, and the process that writes it."""
