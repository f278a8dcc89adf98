"""Regression, ν instead of C, and several classes."""
