"""What several solvers share: rows of samples, threads, scaled QPs, Newton steps on faces, claims."""
