"""What every room of the daemon stands on: the system, storage, errors, tasks, child processes, caches."""
