"""The commit that each published folder names, and whether the history contains it.

A run records the commit at which it was measured. If it has none, or one that is no longer in the
history, the file `published_in.txt` in its folder has the hash of the commit that published the
records, which stay unchanged. A new publication removes the file.
"""

import subprocess
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from dualgap.experiments.store.manifest import read_manifest

PUBLISHED_IN = "published_in.txt"
_HASH_DIGITS = 10  # printed characters of a hash


def commits_of(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Return the hashes that a folder names: in `published_in.txt`, else those of its sessions."""
    file = folder / PUBLISHED_IN
    return [file.read_text().strip()] if file.is_file() else _recorded(manifest)


def commit_text(folder: Path, manifest: dict[str, Any]) -> str:
    """Return a sentence with the commit of a folder's measurement, or else of its publication."""
    named = ", ".join(commit[:_HASH_DIGITS] for commit in commits_of(folder, manifest))
    if not named:
        return ""
    if not (folder / PUBLISHED_IN).is_file():
        return f"Measured at commit {named}."
    lost = ", ".join(commit[:_HASH_DIGITS] for commit in _recorded(manifest))
    measured = f"; measured at {lost}, which is not in the history" if lost else ""
    return f"Published in commit {named}{measured}."


def _recorded(manifest: dict[str, Any]) -> list[str]:
    states = [session.get("git") for session in manifest.get("provenance", [])]
    return list(dict.fromkeys(state["commit"] for state in states if state))


def history(root: Path) -> frozenset[str] | str:
    """Return the hashes of all commits up to HEAD, or a text why they are unavailable."""
    try:
        top, shallow = _git(root, "rev-parse", "--show-toplevel", "--is-shallow-repository")
        if Path(top).resolve() != root.resolve():
            return f"{root} is not the root of a git repository"
        if shallow == "true":
            return "this is a shallow clone"
        return frozenset(_git(root, "rev-list", "HEAD"))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return f"git does not answer ({error})"


def _git(root: Path, *words: str) -> list[str]:
    command = ["git", "-C", str(root), *words]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return process.stdout.split("\n")[:-1]


def unknown_commits(
    folders: Iterable[Path], commits_in_history: Collection[str] | str
) -> Iterator[str]:
    """Yield one sentence per commit that a published folder names but the history lacks.

    Nothing is checked where the history is unavailable; see `history`.
    """
    if isinstance(commits_in_history, str):
        return
    remedy = f"write the commit that published its records to {PUBLISHED_IN} and publish again"
    for folder in folders:
        commits = commits_of(folder, read_manifest(folder))
        if not commits:
            yield f"{folder.name}: names no commit; {remedy}"
        for commit in commits:
            if commit not in commits_in_history:
                yield f"{folder.name}: names commit {commit}, which is not in the history; {remedy}"
