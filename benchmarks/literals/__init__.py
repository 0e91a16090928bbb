"""Whether what stands in the source word for word is found there: strings, messages and names of 16 repositories."""
