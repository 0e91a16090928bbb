"""One open project: its tree with its index, pool, rules, settings and hot files."""
