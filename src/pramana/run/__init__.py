"""The one way from a table to a bundle: open, plan, encode, publish, reconcile, write."""
