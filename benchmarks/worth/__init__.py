"""Whether foveal is worth its tokens: two arms of one agent that differ only in it, and contexts alone."""
