"""Secrets, policies of agents, trust in files, and texts that try to steer their reader."""
