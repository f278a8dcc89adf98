"""The log of a results folder, `runs.jsonl`: one signed line per run, and the check of the signatures.

A solver runs as the same user as the command that measures it, and can write to the log. Therefore each
line ends with a signature (its key in JSON is "seal") that only the command can make:

    number   index of the line in its session, which lasts from opening the folder to closing it
    link     HMAC(key, number), unknown to others until the line is written
    next     SHA-256 of the link of the next line
    mac      HMAC(key, content, number, link, next)

The key is drawn when a session begins, and is only in the memory of the command until the session
ends; then it is written to the manifest. Lines that others appended, altered, repeated or exchanged
before have no valid mac, and are ignored. The key of a killed command is lost: then those lines of its
session count whose links form a chain from the first, whose SHA-256 is in the manifest from the start.
So a kill loses no run, and lines that others appended before it are ignored, too.

Not covered: a line or a manifest that was altered in place, if the command is killed afterwards; a
solver that reads the memory of the command; and changes of the folder while no command has it open, as
the keys are then in the manifest.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dualgap.experiments.cases.run_key import RunKey

LOG = "runs.jsonl"
_DIGEST_CHARACTERS = 32  # of a link or a mac: 128 bits


@dataclass
class Session:
    """Signs the lines of one session.

    Attributes
    ----------
    lines : number of lines written.
    restarted : keys of rounds whose earlier lines do not count.
    """

    lines: int = 0
    restarted: Sequence[RunKey] = ()
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)

    def entry(self, has_ended: bool = False) -> dict[str, Any]:
        """Return the entry of the session in the manifest, with its key once it has `has_ended`."""
        return {
            "first": _sha256(self._link(0)),
            "key": self._key.hex() if has_ended else "",
            "lines": self.lines,
            "restarted": [str(key) for key in self.restarted],
        }

    def sealed(self, content: Mapping[str, Any]) -> bytes:
        """Return the signed next line; the caller increments `lines` after writing it."""
        seal = f"{self.lines:08x}{self._link(self.lines)}{_sha256(self._link(self.lines + 1))}"
        line = f'{json.dumps(content, default=str)[:-1]}, "seal": "{seal}'.encode()
        return line + _mac(self._key, line).encode() + b'"}\n'

    def _link(self, number: int) -> str:
        return _mac(self._key, b"%d" % number)


class Seals:
    """Checks which lines of a log were written by sessions of a manifest, from the first line on.

    Attributes
    ----------
    session : index of the session that wrote the last valid line.
    lines : number of its valid lines so far.
    """

    def __init__(self, sessions: Sequence[Mapping[str, Any]]) -> None:
        self._sessions = [(str(each["first"]), bytes.fromhex(each["key"])) for each in sessions]
        self.session, self.lines = 0, 0
        self._number, self._next = -1, ""

    def fit(self, line: bytes) -> bool:
        """Whether the session of the previous line, or a later one, wrote the line."""
        size = _DIGEST_CHARACTERS
        signed, mac = line[: -size - 2], line[-size - 2 : -2].decode(errors="replace")
        seal = signed[-8 - 2 * size :].decode(errors="replace")
        number, link, following = seal[:8], seal[8 : 8 + size], seal[8 + size :]
        for session in range(self.session, len(self._sessions)):
            first, key = self._sessions[session]
            continues = session == self.session and self.lines > 0
            if key:
                valid = _mac(key, signed) == mac
                valid = valid and (not continues or int(number, 16) > self._number)
            else:
                valid = _sha256(link) == (self._next if continues else first)
            if valid:
                self.lines = self.lines + 1 if continues else 1
                self.session, self._number, self._next = session, int(number, 16), following
                return True
        return False


def _mac(key: bytes, content: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()[:_DIGEST_CHARACTERS]


def _sha256(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()[:_DIGEST_CHARACTERS]
