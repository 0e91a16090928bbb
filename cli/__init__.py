"""The command line, a client of the daemon's socket."""
