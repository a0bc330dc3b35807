"""Pictures and the one-file HTML; computes nothing."""
