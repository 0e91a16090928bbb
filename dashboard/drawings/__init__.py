"""What pages draw: SVG, and code with its colours."""
