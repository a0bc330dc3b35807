"""All that touches a disk or a store."""
