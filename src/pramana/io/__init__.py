"""Tables in and out: one registry of formats, databases and data frames; values to codes and back."""
