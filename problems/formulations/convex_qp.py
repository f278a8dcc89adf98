"""Any convex quadratic program, certified: a problem of variables and constraints, without samples."""
