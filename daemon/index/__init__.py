"""What is kept on disk about a project, and the process that writes it."""
