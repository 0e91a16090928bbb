"""What foveal promises, and how hard it was tried to break it."""
