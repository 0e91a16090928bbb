"""The base of all other packages of the daemon: system, storage, errors, tasks, child processes, caches."""
