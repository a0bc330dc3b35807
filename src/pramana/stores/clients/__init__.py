"""The clients of stores, each made from what the environment says of it."""
