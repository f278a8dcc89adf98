"""The figures of a results folder, one file each; a file that is put here is found by itself."""
