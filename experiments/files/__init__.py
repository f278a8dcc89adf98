"""Reading, expanding and checking experiment files."""
