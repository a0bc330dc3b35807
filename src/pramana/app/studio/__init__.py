"""The studio: publish, keep account and analyse in a browser, on one's own machine. A thin face on the library."""

from pramana.app.studio.application import Studio

__all__ = ["Studio"]
