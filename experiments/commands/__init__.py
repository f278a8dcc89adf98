"""The commands of `dualgap`, one file each: its options and arguments, and a call of its work.

Heavy modules are imported inside the commands, so that `dualgap --help` is fast.
"""
