"""Text becomes vectors: the embedding model, what it has embedded, and the search among that."""
