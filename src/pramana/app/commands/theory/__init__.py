"""Commands that compute what a promise means; no table is read."""
