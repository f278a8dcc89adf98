"""Code shared by solvers: sample rows, memory, scaled QPs, linear systems, warm-up and claims."""
