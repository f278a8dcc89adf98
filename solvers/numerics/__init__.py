"""Code shared by solvers: sample rows, memory, scaled QPs, linear systems, and what counts as time."""
