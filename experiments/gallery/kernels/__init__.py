"""Effects of kernels and their parameters."""
