"""Readers of data files: one function per family of formats, and the checks that they share."""
