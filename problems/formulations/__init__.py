"""The formulations: what is minimised."""
