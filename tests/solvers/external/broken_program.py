"""A program that does what it is told, and little of it is good: `ANSWER N MOST MARK WORD...`.

It starts processes, writes, prints, leaves an answer and ends, one word after the other. Of two
samples (N) it waits for nothing, so that a test need not.
"""

import os
import random
import shutil
import signal
import sys
import time

ANSWER, N, MOST = sys.argv[1], int(sys.argv[2]), int(float(sys.argv[3]))
MARK = sys.argv[4]  # seconds that what it starts would sleep
BLOCK = bytes(2**20)


def started(*ways):
    """Start what sleeps for a day, or writes till then."""
    if os.fork():
        return
    if "session" in ways:
        os.setsid()
    if "orphan" in ways and os.fork():
        os._exit(0)
    if "elsewhere" in ways:
        os.chdir("/")
    if "deaf" in ways:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    if "writing" in ways:
        while True:
            with open(f"{time.monotonic_ns()}", "wb") as file:
                file.write(b"0" * 4096)
            time.sleep(1e-3)
    os.execvpe("sleep", ["sleep", MARK], {} if "bare" in ways else os.environ)


def filled(name, size, sparse=False):
    """Write a file until it is that large, or nobody lets it."""
    with open(name, "wb", buffering=0) as file:
        if name == "deleted":
            os.unlink(name)
        if sparse:
            file.truncate(size)
        while not sparse and file.tell() < size:
            file.write(BLOCK[:size])


def nested():
    """Make a folder so deep that its path is no name of a file, with something in it."""
    folder = os.getcwd()
    for _ in range(1500):
        os.mkdir("abc")
        os.chdir("abc")
    filled("x", 2**16)
    os.chdir(folder)


def locked():
    """Make a folder that nobody but root may look into, with something in it."""
    os.makedirs("locked", exist_ok=True)
    filled("locked/x", 2**16)
    os.chmod("locked", 0)


def write_answer(content):
    """Write an answer, in text or bytes."""
    with open(ANSWER, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def torn(source):
    """Write the first part of a good answer."""
    with open(source, "rb") as file:
        content = file.read()
    write_answer(content[: random.Random(source).randrange(len(content))])


def good(source):
    """Write a good answer."""
    with open(source, "rb") as file:
        write_answer(file.read())


def struck(name):
    """Die of a signal, whatever was inherited of it."""
    number = getattr(signal, name)
    if name != "SIGKILL":
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


WORDS = {
    "child": started,
    "session": lambda: started("session"),
    "orphan": lambda: started("session", "orphan"),
    "deaf": lambda: started("session", "deaf"),
    "bare": lambda: started("bare"),
    "hidden": lambda: started("session", "orphan", "bare", "elsewhere"),
    "writing": lambda: started("session", "orphan", "writing"),
    "flood": lambda: [sys.stdout.buffer.write(BLOCK) for _ in range(MOST // 2**20)],
    "bytes": lambda: os.write(1, bytes(range(256)) * 9),
    "file": lambda: filled("large", MOST),
    "sparse": lambda: filled("sparse", 2**50, sparse=True),
    "deleted": lambda: filled("deleted", MOST),
    "files": lambda: [filled(f"f{i}", MOST // 20) for i in range(20)],
    "many": lambda: [filled(f"m{i}", 0) for i in range(3000)],
    "nested": nested,
    "locked": locked,
    "homeless": lambda: shutil.rmtree(os.getcwd()),
    "parricide": lambda: os.kill(os.getppid(), signal.SIGKILL),
    "unread": lambda: [os.unlink(each) for each in os.listdir(".") if each.startswith("samples")],
    "silent": lambda: os.closerange(0, 3),
    # answers
    "nan": lambda: write_answer("alpha\n" + "nan\n" * N),
    "inf": lambda: write_answer("alpha\n" + "1\n" * (N - 1) + "-inf\n"),
    "large": lambda: write_answer("alpha\n" + "1e308\n" * N),
    "negative": lambda: write_answer("alpha\n" + "-1\n" * N),
    "zero": lambda: write_answer("alpha\n" + "0\n" * N),
    "short": lambda: write_answer("alpha\n" + "1\n" * (N - 1)),
    "long": lambda: write_answer("alpha\n" + "1\n" * (N + 1)),
    "endless": lambda: filled(ANSWER, MOST),
    "junk": lambda: write_answer(random.Random(N).randbytes(500)),
    "empty": lambda: write_answer(""),
    "words": lambda: write_answer("it is optimal\n"),
    "folder": lambda: os.mkdir(ANSWER),
    "pipe": lambda: os.mkfifo(ANSWER),
    "zeros": lambda: os.symlink("/dev/zero", ANSWER),
    "nowhere": lambda: os.symlink("nowhere", ANSWER),
    "other": lambda: os.symlink(sys.executable, ANSWER),
    "closed": lambda: (write_answer("alpha\n"), os.chmod(ANSWER, 0)),
    "none": lambda: None,
    # ends
    "0": lambda: sys.exit(0),
    "3": lambda: os._exit(3),
    "255": lambda: os._exit(255),
    "raise": lambda: 1 / 0,
    "wait": lambda: time.sleep(86400 if N > 2 else 0),
    "print": lambda: [sys.stdout.write("." * 99) for _ in iter(lambda: N > 2, False)],
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP if N > 2 else signal.SIGTERM),
    **{
        name: lambda name=name: struck(name)
        for name in ("SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM", "SIGINT", "SIGXFSZ", "SIGUSR1")
    },
}

for word in sys.argv[5:]:
    name, _, argument = word.partition("=")
    {"good": good, "torn": torn}[name](argument) if argument else WORDS[name]()
