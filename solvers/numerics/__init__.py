"""What several solvers share: rows of samples, threads, scaled QPs, steps on faces, planes, claims."""
