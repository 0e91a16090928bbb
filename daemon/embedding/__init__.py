"""Embeddings: the model that turns text into vectors, the store of these vectors, and the search in them."""
