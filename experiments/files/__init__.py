"""An experiment file: read, expanded and checked."""
