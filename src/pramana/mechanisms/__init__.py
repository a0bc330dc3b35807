"""Channels, mechanisms for whole records, and the guarantees proved of them."""
