"""The log of a run, `runs.jsonl`: a sealed line for each run, and which of its lines a command wrote.

A solver runs as the same user as the command that measures it, and can write to the log. So each line
ends with a seal, which only the command can make:

    number   of the line in its session, which is from opening the folder to closing it
    link     HMAC(key, number), which nobody else knows before the line is there
    next     SHA-256 of the link of the line that follows
    mac      HMAC(key, content, number, link, next)

The key is drawn when a session begins, and is in the memory of the command alone until the session has
ended; then it is put into the manifest. Whatever others appended, altered, repeated or exchanged before
has no valid mac, and does not count. The key of a killed command is lost: of its session those lines
count whose links follow one another, from the first, whose SHA-256 the manifest has from the beginning.
So no run is lost by a kill, and what others appended before it does not count either.

Not covered: a line that was altered in its place, or a manifest that was, if the command is killed
afterwards; a solver that reads the memory of the command; and whoever changes the folder when no
command has it open, who finds the keys in the manifest.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LOG = "runs.jsonl"
_LENGTH = 32  # characters of a link or a mac


@dataclass
class Session:
    """Seals the lines of one session.

    Attributes
    ----------
    lines : how many were written.
    restarted : runs (of a search, what their ids begin with) of which no earlier line counts.
    """

    lines: int = 0
    restarted: Sequence[str] = ()
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)

    def entry(self, ended: bool = False) -> dict[str, Any]:
        """Return what the manifest says of the session; once it has `ended`, its key too."""
        return {
            "first": _sha256(self._link(0)),
            "key": self._key.hex() if ended else "",
            "lines": self.lines,
            "restarted": list(self.restarted),
        }

    def sealed(self, content: Mapping[str, Any]) -> bytes:
        """Return the next line; that it was written is said by adding 1 to `lines`."""
        seal = f"{self.lines:08x}{self._link(self.lines)}{_sha256(self._link(self.lines + 1))}"
        line = f'{json.dumps(content, default=str)[:-1]}, "seal": "{seal}'.encode()
        return line + _mac(self._key, line).encode() + b'"}\n'

    def _link(self, number: int) -> str:
        return _mac(self._key, b"%d" % number)


class Seals:
    """Tells which lines of a log the sessions of a manifest wrote; to be asked from the first line on.

    Attributes
    ----------
    session : the place of the session that wrote the last of these lines. lines : how many it wrote
        until then.
    """

    def __init__(self, sessions: Sequence[Mapping[str, Any]]) -> None:
        self._sessions = [(str(each["first"]), bytes.fromhex(each["key"])) for each in sessions]
        self.session, self.lines = 0, 0
        self._number, self._next = -1, ""

    def fit(self, line: bytes) -> bool:
        """Whether the session of the line before, or a later one, wrote the line."""
        sealed, mac = line[: -_LENGTH - 2], line[-_LENGTH - 2 : -2].decode(errors="replace")
        seal = sealed[-8 - 2 * _LENGTH :].decode(errors="replace")
        number, link, following = seal[:8], seal[8 : 8 + _LENGTH], seal[8 + _LENGTH :]
        for place in range(self.session, len(self._sessions)):
            first, key = self._sessions[place]
            goes_on = place == self.session and self.lines > 0
            if key:
                own = _mac(key, sealed) == mac and (not goes_on or int(number, 16) > self._number)
            else:
                own = _sha256(link) == (self._next if goes_on else first)
            if own:
                self.lines = self.lines + 1 if goes_on else 1
                self.session, self._number, self._next = place, int(number, 16), following
                return True
        return False


def _mac(key: bytes, content: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()[:_LENGTH]


def _sha256(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()[:_LENGTH]
