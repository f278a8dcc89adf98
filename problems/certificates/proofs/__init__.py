"""Bounds and infeasibility that are theorems about the stored data: in balls and in rationals."""
