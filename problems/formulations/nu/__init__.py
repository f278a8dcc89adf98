"""Machines whose parameter ν bounds the shares of margin errors and of support vectors."""
