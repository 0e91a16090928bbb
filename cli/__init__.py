"""The command line: a client of the socket like any other."""
