"""The hosts, one file each: hook events, settings files and the rules that a host reads itself."""
