"""Files for exchange with other programs: problems in both directions, and their answers."""
