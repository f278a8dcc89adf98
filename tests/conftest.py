"""Random tests draw the same cases on every run, however slow or busy the machine is."""

from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None, database=None)
settings.load_profile("reproducible")
