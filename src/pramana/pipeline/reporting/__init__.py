"""Pages of bundles: what a report shows, column by column."""
