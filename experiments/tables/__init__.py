"""Tables for the terminal, Markdown, LaTeX, CSV and web pages."""
