"""Samples in blocks, of which one at a time is in memory."""
