"""Secret masking: how many invented secrets are masked, and how many other values."""
