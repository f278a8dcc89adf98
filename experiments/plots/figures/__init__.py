"""The figures of a results folder, one file each; files here are discovered automatically."""
