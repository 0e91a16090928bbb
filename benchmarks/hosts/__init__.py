"""Runs foveal with real hosts against a scripted model on loopback, and checks what reaches the model."""
