"""Where cases are run."""
