"""The search for the classes of a generalised release."""
