"""What was said and done in the transcripts of agents, and which decisions stand in them."""
