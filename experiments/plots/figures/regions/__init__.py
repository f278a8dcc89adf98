"""Answers to two-dimensional problems, drawn in the plane of their samples."""
