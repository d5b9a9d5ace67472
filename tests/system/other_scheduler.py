"""Plays a scheduler's command over the machines of machines.py: starts one task on each, as srun with --input=all and
--label does.

    other_scheduler.py AGENT NODELIST PROGRAM ARGUMENT…

Names with a range in brackets are written out. All of standard input goes to every task, each line that comes back is
labelled with the number of its task. It ends with the last task, and says of those that failed that they did.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading


def names_in(nodelist):
    out = []
    for word in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", nodelist):
        match = re.fullmatch(r"([^\[]+)\[(.*)\]", word)
        if not match:
            out.append(word)
            continue
        for part in match.group(2).split(","):
            first, _, last = part.partition("-")
            out += [f"{match.group(1)}{n:0{len(first)}}" for n in range(int(first), int(last or first) + 1)]
    return out


class Task:
    def __init__(self, number, agent, name, argv):
        self.number, self.name = number, name
        command = f"SLURMD_NODENAME={name} exec {shlex.join(argv)}"
        self.process = subprocess.Popen([agent, name, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.readers = [threading.Thread(target=self._copy, args=streams) for streams in
                        ((self.process.stdout, sys.stdout.buffer), (self.process.stderr, sys.stderr.buffer))]
        for reader in self.readers:
            reader.start()

    def _copy(self, source, target):
        for line in source:
            target.write(b"%d: %s\n" % (self.number, line.rstrip(b"\n")))
            target.flush()

    def write(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended

    def close_input(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def wait(self):
        status = self.process.wait()
        for reader in self.readers:
            reader.join()
        if status != 0:
            print(f"srun: error: {self.name}: task {self.number}: Exited with exit code {status}", file=sys.stderr,
                  flush=True)
        return status


def broadcast(tasks):
    while data := os.read(0, 65536):
        for task in tasks:
            task.write(data)
    for task in tasks:
        task.close_input()


def main(agent, nodelist, *argv):
    tasks = [Task(number, agent, name, argv) for number, name in enumerate(names_in(nodelist))]

    def kill_all(*_):
        for task in tasks:
            task.process.kill()

    signal.signal(signal.SIGTERM, kill_all)
    threading.Thread(target=broadcast, args=(tasks,), daemon=True).start()
    statuses = []
    waiting = [threading.Thread(target=lambda task=task: statuses.append(task.wait())) for task in tasks]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    os._exit(max(abs(status) for status in statuses) % 256)


if __name__ == "__main__":
    main(*sys.argv[1:])
