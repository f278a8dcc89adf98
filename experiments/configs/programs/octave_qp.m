% Octave's qp, an active-set method, on the dual's box QP. Called with samples and answer.
given = argv ();
problem = load (given{1});
x0 = zeros (rows (problem.p), 1);
[x, objective, info] = qp (x0, problem.Q, problem.p, problem.A, problem.b, problem.lb, problem.ub);
if (info.info == 0)
  printf ("global solution found\n");
end
save ("-v7", given{2}, "x");
