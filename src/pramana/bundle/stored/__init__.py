"""Bundles in stores: how they go up whole or not at all, and how they come down."""
