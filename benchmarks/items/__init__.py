"""How well an agent's rules and tools are found: 300 real ones, labelled queries, the daemon's own search."""
