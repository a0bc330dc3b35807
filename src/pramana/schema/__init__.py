"""Roles, kinds, domains, attributes, hierarchies; reading recipes and ARX hierarchy files."""
