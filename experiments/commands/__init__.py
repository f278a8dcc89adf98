"""What the commands of `dualgap` do."""
