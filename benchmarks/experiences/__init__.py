"""Measures of the pool of experiences, and the proof that a killed writer loses nothing."""
