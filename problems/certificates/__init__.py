"""Bounds on the optimum, from a point and the data alone."""
