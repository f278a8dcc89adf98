"""Figures of answers to two-dimensional problems, in the plane of their samples."""
