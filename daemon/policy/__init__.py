"""What an agent may see of a project. Policy, not authentication: an agent says itself who it is."""
