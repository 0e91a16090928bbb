"""The linker: which definition each reference of a file means. It knows no index and reads no file."""
