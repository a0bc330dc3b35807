"""Property tests draw the same examples every time: a verdict never depends on the day it is asked for."""

from hypothesis import settings

settings.register_profile("same every time", derandomize=True, deadline=None)
settings.load_profile("same every time")
