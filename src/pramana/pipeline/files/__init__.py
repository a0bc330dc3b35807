"""Files around a release: its source once more, what that says of its variables, and copies for other programs."""
