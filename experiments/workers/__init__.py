"""A healthy process for runs; nothing numerical is imported here."""
