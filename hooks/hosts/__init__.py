"""One file a host: its hook events, its settings files and the rules it reads by itself."""
