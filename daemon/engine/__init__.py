"""All services of a daemon, composed: what the methods of the wire work on."""
