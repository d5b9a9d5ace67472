"""Parts of a suite that run beside each other, each with a scratch folder and a log of its own."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from tide_test.process import end_all_using
from tide_test.pytest_lane import scratch_folder

AT_ONCE = os.cpu_count() or 1
SWEEP_S = 0.2


class Lanes:
    """Runs parts, functions (scratch, log) → cases, so many at once. Whoever interrupts us ends
    them, too: what they start is in sessions of its own."""

    def __init__(self, kept, at_once=AT_ONCE):
        """`kept`: a folder for the logs of the parts."""
        self._kept, self._at_once = kept, at_once
        self._lock, self._open = threading.Lock(), set()
        self._stopping = threading.Event()
        kept.mkdir(parents=True, exist_ok=True)

    @property
    def stopping(self):
        return self._stopping.is_set()

    def run(self, parts, log):
        """All cases, in the order of `parts`, a list of (name, function); the logs are put together in `log`."""
        logs = [self._kept / f"{name}.log" for name, _ in parts]
        for part in logs:
            part.unlink(missing_ok=True)
        with ThreadPoolExecutor(self._at_once) as pool:
            lanes = [pool.submit(self._run_one, work, part) for (_, work), part in zip(parts, logs)]
            try:
                return [case for lane in lanes for case in lane.result()]
            except BaseException:
                self._stop(lanes)
                raise
            finally:
                with open(log, "a") as together:
                    together.writelines(part.read_text(errors="replace") for part in logs if part.exists())

    def _run_one(self, work, log):
        if self.stopping:
            return []
        try:
            with self._scratch() as scratch:
                return work(scratch, log)
        except BaseException:
            self._stopping.set()  # here, so that this lane begins nothing else
            raise

    @contextmanager
    def _scratch(self):
        with scratch_folder() as scratch:
            with self._lock:
                self._open.add(scratch)
            try:
                yield scratch
            finally:
                with self._lock:
                    self._open.discard(scratch)

    def _stop(self, lanes):
        """Ends what runs, again and again: a part may have been about to start something."""
        self._stopping.set()
        while wait(lanes, SWEEP_S).not_done:
            with self._lock:
                folders = list(self._open)
            for folder in folders:
                end_all_using(folder)
