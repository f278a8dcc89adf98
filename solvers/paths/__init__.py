"""Certified paths over C, lam or epsilon, and the choice of a value by validation."""
