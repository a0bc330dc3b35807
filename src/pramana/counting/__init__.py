"""Counting on integer codes: combinations that occur, classes of rows that agree, and the values in them."""
