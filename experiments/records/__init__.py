"""What a row of results is: how a run may end, and what each column holds."""
