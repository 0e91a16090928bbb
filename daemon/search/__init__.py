"""Search: finds the code that a question is about, by words, by meaning and in the code graph."""
