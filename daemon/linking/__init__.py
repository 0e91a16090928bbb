"""Owns the links of the code graph: what each reference means. Knows what files say, and no index."""
