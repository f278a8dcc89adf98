"""Adapters to solvers that others wrote; their packages are optional."""
