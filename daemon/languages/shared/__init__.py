"""The machinery that all languages share: parsing, names, imports, and how references are read."""
