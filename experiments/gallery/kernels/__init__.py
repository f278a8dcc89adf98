"""What kernels and their parameters do."""
