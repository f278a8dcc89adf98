"""Code shared by solvers: claims, sample rows, memory, scaled QPs, linear systems, and time."""
