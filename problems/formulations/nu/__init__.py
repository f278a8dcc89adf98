"""Machines whose parameter nu stands for a share of the samples, and the smallest ball around most of them."""
