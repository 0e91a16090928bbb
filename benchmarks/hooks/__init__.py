"""What a hook costs its host: the whole process, beside a bare interpreter."""
