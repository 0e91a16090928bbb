"""How often what stands in the source word for word is found there: texts and names of 16 repositories."""
