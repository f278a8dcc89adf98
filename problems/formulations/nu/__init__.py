"""Machines whose parameter nu is a share of the samples."""
