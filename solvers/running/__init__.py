"""`solve`: the timed loop, its arguments, and what it returns."""
