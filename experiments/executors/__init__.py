"""Executors: where cases are run."""
