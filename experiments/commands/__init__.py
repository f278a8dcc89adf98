"""The commands of `dualgap`."""
