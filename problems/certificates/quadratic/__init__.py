"""Bounds on the optimum of a convex QP that are theorems, from a point and the data alone."""
