"""For all tests: drawn examples are the same in every run, and a slow machine is no failure."""

from hypothesis import settings

settings.register_profile("dissensus", derandomize=True, deadline=None)
settings.load_profile("dissensus")
