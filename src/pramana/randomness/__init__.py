"""Keyed streams, exact integer samplers, keyed shuffles."""
