"""Pure functions on numbers: one module per paper, with its symbols, statements and corrections beside it."""
