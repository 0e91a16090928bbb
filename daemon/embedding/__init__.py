"""Text becomes vectors: the embedding model, the stored embeddings, and the search among them."""
