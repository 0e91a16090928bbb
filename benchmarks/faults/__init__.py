"""Tests that try to break foveal's promises."""
