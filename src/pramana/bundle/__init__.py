"""Bundles: the certificate and its form, and the one reader of published files."""
