"""The linker: resolves each reference of a file to its definition. It knows no index and reads no file."""
