"""Bins of numbers and periods of the calendar, and the numbers published of them."""
