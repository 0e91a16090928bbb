"""The machinery shared by all languages: parsing, names, imports, and extraction of references."""
