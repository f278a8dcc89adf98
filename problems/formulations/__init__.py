"""The optimisation problems."""
