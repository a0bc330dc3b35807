"""Privacy notions: one class each, which says what it promises in words and no more."""
