"""The text of tables: for the terminal, as Markdown, LaTeX, CSV and in pages."""
