"""How algorithms reach their answers."""
