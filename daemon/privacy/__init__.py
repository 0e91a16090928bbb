"""What must not be shown, and what must not be believed: secrets, and texts that steer their reader."""
