"""A pytest plug-in, `-p tests.elsewhere`: what only POSIX has is missing for dualgap's own modules.

It stands for a run on Windows, as far as our own code goes; libraries have wheels of their own there.
Processes that a test starts lack the same if a `sitecustomize` on their path imports this module.
"""

import builtins
import faulthandler
import os
import signal
import socket
import sys

MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
NAMES = {
    faulthandler: {"register"},
    os: {"fork", "getpgid", "getpgrp", "killpg", "mkfifo", "setsid", "wait4", "waitid"}
    | {"P_PID", "WNOHANG", "register_at_fork", "set_blocking", "statvfs", "uname"},
    signal: {"SIGALRM", "SIGCONT", "SIGKILL", "SIGSTOP", "SIGXFSZ", "getitimer", "setitimer"},
    socket: {"AF_UNIX", "MSG_DONTWAIT"},
}
PACKAGES = ("dualgap.problems", "dualgap.solvers", "dualgap.experiments")
_import = builtins.__import__


def _is_ours(depth: int) -> bool:
    return sys._getframe(depth).f_globals.get("__name__", "").startswith(PACKAGES)


def _import_elsewhere(name, *arguments, **options):
    if name in MODULES and _is_ours(2):
        raise ImportError(f"there is no {name} on Windows")
    return _import(name, *arguments, **options)


class _Elsewhere(type(os)):
    def __getattribute__(self, name):
        missing = type(self).missing
        if name in missing and _is_ours(2):
            raise AttributeError(f"there is no {name} on Windows")
        return super().__getattribute__(name)


def block() -> None:
    """Hide the modules and names from our packages, for the rest of this process."""
    builtins.__import__ = _import_elsewhere
    for module, names in NAMES.items():
        module.__class__ = type("Elsewhere", (_Elsewhere,), {"missing": frozenset(names)})


block()
