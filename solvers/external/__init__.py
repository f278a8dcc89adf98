"""Adapters to third-party solvers; their packages are optional."""
