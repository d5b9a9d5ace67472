"""What system tests run as jobs, and how they check what came out."""

import errno
import hashlib
import os
import random

from dvm import wait_until

BLOCK_BYTES = 1 << 20
LETTERS_OF_A_RANK = 64  # so four ranks share the 256 values of a byte

# Writes BLOCKS blocks to standard output; every rank in letters of its own, see Streams.
WRITER = """
import os, random, sys
blocks, size = int(sys.argv[1]), int(sys.argv[2])
rank = int(os.environ["TIDE_RANK"])
letters = bytes(rank * 64 + value % 64 for value in range(256))
for block in range(blocks):
    data = memoryview(random.Random(rank * 65536 + block).randbytes(size).translate(letters))
    while data:
        data = data[os.write(1, data):]
"""


def writer(blocks, block_bytes=BLOCK_BYTES):
    """The command whose output Streams checks."""
    return ["/usr/bin/python3", "-c", WRITER, str(blocks), str(block_bytes)]


class Streams:
    """Takes the mixed output of up to four ranks that run writer() and tells them apart again:
    each writes letters of its own, so every byte shows whose it is, and its place is in the data."""

    def __init__(self, ranks, blocks, block_bytes=BLOCK_BYTES):
        self._ranks, self._blocks, self._block_bytes = ranks, blocks, block_bytes
        self._seen = [hashlib.blake2b() for _ in range(ranks)]
        self._lengths = [0] * ranks
        self._others = [bytes(value for value in range(256) if value // LETTERS_OF_A_RANK != rank)
                        for rank in range(ranks)]

    def take(self, data):
        foreign = data.translate(None, bytes(range(self._ranks * LETTERS_OF_A_RANK)))
        assert not foreign, f"bytes that no rank wrote: {foreign[:80]}"
        for rank in range(self._ranks):
            own = data.translate(None, self._others[rank])
            self._seen[rank].update(own)
            self._lengths[rank] += len(own)

    def check(self):
        """Every rank's bytes arrived, all of them and in order."""
        assert self._lengths == [self._blocks * self._block_bytes] * self._ranks
        for rank in range(self._ranks):
            assert self._seen[rank].digest() == self._expected(rank), f"rank {rank}: other bytes"

    def _expected(self, rank):
        letters = bytes(rank * LETTERS_OF_A_RANK + value % LETTERS_OF_A_RANK for value in range(256))
        whole = hashlib.blake2b()
        for block in range(self._blocks):
            chance = random.Random(rank * 65536 + block)
            whole.update(chance.randbytes(self._block_bytes).translate(letters))
        return whole.digest()


class Gate:
    """A place where processes of jobs wait, without polling, until the test opens it:
    `read line < PATH` in a shell. Who comes after open() waits for the next one."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    def try_open(self):
        """Lets go all that wait now; False when nobody does."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        return True

    def wait_command(self):
        """Shell text that waits here."""
        return f"read line < {self.path} || :"


def last_job(dvm):
    return max(row["number"] for row in dvm.jobs("--all")["jobs"])


def state_of(dvm, job):
    """The state a job is in, or None while its submission is still under way."""
    return {row["number"]: row["state"] for row in dvm.jobs("--all")["jobs"]}.get(job)


def steps_of(dvm, job):
    """All states of a job that has ended, once the log has them."""
    return wait_until(lambda: "NOTIFIED" in (steps := dvm.transitions(job)) and steps, what=f"end of job {job} logged")
