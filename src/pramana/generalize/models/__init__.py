"""Further conditions on classes, and on all of them together, that people know from ARX."""
