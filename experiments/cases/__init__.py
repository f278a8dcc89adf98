"""Planning, solving, certifying and recording single runs."""
