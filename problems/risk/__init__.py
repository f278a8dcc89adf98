"""The dual of a problem: variables, constraints, forms, offsets, and points recovered from weights."""
