"""How many secrets of written forms are masked, and how often something else is."""
