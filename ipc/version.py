"""The version of the package, which both ends of the socket tell each other."""

__version__ = "0.2.0"
