"""Jobs that go on while something is broken, and what the tree of daemons must look like afterwards."""

import threading

from dvm import TIME_SCALE
from jobs import Streams, writer

BLOCKS = 24


class Load:
    """Jobs that keep clear of one node: a stream with known bytes from the nodes `sources`, and short
    jobs one after the other from two submitters. check() wants all of them unharmed."""

    def __init__(self, dvm, nodes, sources):
        self._dvm, self._hosts = dvm, ",".join(nodes)
        self._streams = Streams(ranks=2, blocks=BLOCKS)
        self._stop, self._failures, self._submitted = threading.Event(), [], 0
        self._job = dvm.start("tide", "run", "-n", "2", "--host", ",".join(sources), "--map-by", "node",
                              *writer(BLOCKS), text=False)
        self._threads = [threading.Thread(target=self._submit) for _ in range(2)]
        for thread in self._threads:
            thread.start()

    def _submit(self):
        while not self._stop.is_set():
            done = self._dvm.run("--host", self._hosts, "-n", "4", "--map-by", "node:OVERSUBSCRIBE", "echo", "here")
            self._submitted += 1
            if (done.returncode, done.stdout) != (0, "here\n" * 4):
                self._failures.append(done)

    def read(self, byte_count):
        while byte_count > 0:
            data = self._job.stdout.read1(byte_count)
            assert data, self._job.stderr.read()
            self._streams.take(data)
            byte_count -= len(data)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self):
        while data := self._job.stdout.read1(1 << 20):
            self._streams.take(data)
        error = self._job.stderr.read()
        assert self._job.wait(timeout=30 * TIME_SCALE) == 0, error
        self._streams.check()
        self.stop()
        assert not self._failures, self._failures[:3]
        assert self._submitted >= 2


def check_tree(status, radix):
    """Everybody hangs on somebody who lives, nobody has too many children, and all reach the head."""
    parents = {node["rank"]: node["parent"] for node in status["nodes"]}
    for rank in parents:
        seen = set()
        while rank != 0:
            assert rank in parents and rank not in seen, parents
            seen.add(rank)
            rank = parents[rank]
    for parent in set(parents.values()):
        assert list(parents.values()).count(parent) <= radix, parents
