"""The watched project tree: files, symbols, imports, and how they change."""
