"""Supervised worker processes for runs; nothing numerical is imported here."""
