"""Machines whose parameter ν bounds the fractions of margin errors and of support vectors."""
