"""delta-presence: classes in which nobody can say who is present, and the distributions in their cells."""
