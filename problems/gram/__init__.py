"""Gram matrices: kernel values of all pairs of samples, stored or computed on demand."""
