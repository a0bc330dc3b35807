"""What a recipient makes of a bundle: columns to ask of, records to work with."""
