"""The dual of a problem: variables, constraints, forms, offsets, and points made from weights."""
