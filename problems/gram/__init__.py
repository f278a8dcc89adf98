"""Gram matrices: kernel values of all pairs of samples, held or computed when needed."""
