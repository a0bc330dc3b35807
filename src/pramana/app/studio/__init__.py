"""The studio: publish, keep account and analyse in a browser, on one's own machine. A thin face on the library."""
