"""Data frames in, data frames out: what the records say."""
