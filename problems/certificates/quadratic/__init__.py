"""Proven bounds on the optimum of a convex QP, from a point and the data alone."""
