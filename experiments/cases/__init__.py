"""What one run is, and what is recorded of it."""
