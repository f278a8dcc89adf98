"""General convex quadratic programs: the problem, its files, and proven bounds on its optimum."""
