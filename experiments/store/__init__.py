"""What is kept of a run: its folder, its manifest, its records."""
