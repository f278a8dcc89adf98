"""Regression, ν in place of C, and several classes."""
