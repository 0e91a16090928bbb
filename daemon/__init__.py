"""The daemon: it reads, decides and renders."""
