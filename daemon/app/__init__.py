"""The daemon as a process: start and stop, the composition of its parts, its state folder and metrics."""
