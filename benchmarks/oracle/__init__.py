"""The oracle: what a daemon answers on real code bases, recorded and compared byte for byte."""
