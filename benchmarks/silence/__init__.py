"""Which prompts a hook leaves unanswered, compared with labels."""
