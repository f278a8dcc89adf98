"""Separating hyperplanes, slack, and the losses."""
