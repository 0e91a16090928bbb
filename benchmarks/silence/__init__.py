"""Which prompts a hook answers with nothing, held against labels."""
