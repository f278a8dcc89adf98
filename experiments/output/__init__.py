"""Data frames in, text out: tables and messages for the terminal and for Markdown."""
