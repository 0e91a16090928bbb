"""The web pages, a client of the socket like any other."""
