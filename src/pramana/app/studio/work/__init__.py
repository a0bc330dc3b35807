"""What a studio works on: the allowed folder, private files, the recipe, the dial, a release under way."""
