"""Privacy notions: one class each, with its value, words, promise, composition, risks and certificate form."""
