"""Figures that explain runs: rates of convergence, and what predicts the fastest solver."""
