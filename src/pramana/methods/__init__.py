"""The methods: one folder each, one protocol, one registry; and the recipes that name them."""
