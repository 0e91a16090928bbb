"""What the events of agents mean, and what is answered: each host's words stop at its own file."""
