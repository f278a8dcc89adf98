"""`solve`: the loop with the clock, what it is given, and what it returns."""
