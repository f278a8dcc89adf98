"""How algorithms find their answers."""
