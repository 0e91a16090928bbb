"""What each agent may see and do: the permissions of requests, and what is left out of what they show."""
