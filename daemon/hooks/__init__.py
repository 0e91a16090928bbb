"""The meaning of agents' events and the answers to them; host-specific formats stay in each host's file."""
