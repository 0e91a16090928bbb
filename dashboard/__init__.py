"""The web pages, a client of the daemon's socket."""
