"""What the commands of `dualgap` do, and what they share."""
