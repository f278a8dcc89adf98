"""Data sets that are downloaded by a number or name that others gave them."""
