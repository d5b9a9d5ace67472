"""A DVM over the nodes of a swarm: its head on node1, its daemons started over ssh, driven by the real commands."""

import itertools
import os
import shutil
from pathlib import Path

import dvm
from dvm import BIN, SHOWN_LOG_LINES, DvmByPrte, wait_until

HEAD_NODE = "node1"
DOWN_LIMIT_S = 40
SLOTS = 4

# A deadline of three seconds for silent links, and all that follows from it in proportion.
FAST = {"tide_heartbeat_interval": "500ms", "tide_heartbeat_timeout": "3s", "tide_suspect_grace": "1s",
        "tide_reattach_timeout": "3s"}
SILENCE_S = 3 + 1  # until the head has given up who is silent
# Until whoever lost the head has ended: silence, the search for another way, the end of the processes.
ALONE_S = 3 + 3 + 2
MARGIN_S = 6  # two cores for everything

# How a host is wrong, and what is said of it, within the limit.
WRONG_HOSTS = {"unknown": "no machine of the name nowhere is known", "refused": "takes no connection|refused",
               "silent": "no answer from node[0-9]+ within 1[0-9] s", "frozen": "no answer from node[0-9]+ within 1[0-9] s"}
REPORT_LIMIT_S = 15

_numbers = itertools.count(1)


def spoil(bed, host, how):
    """Makes the node a wrong host and returns the name to write into the hostfile."""
    if how == "unknown":
        return "nowhere"
    if how == "frozen":
        bed.freeze(host)
    else:
        bed.crash(host, silent=how == "silent")
    return host


def words_of(up_options, prtemca):
    """Command line words of `prte`."""
    parameters = [word for key, value in (prtemca or {}).items() for word in ("--prtemca", key, str(value))]
    return [*map(str, up_options), *parameters]


class SwarmDvm(DvmByPrte):
    """Files of the head lie in `tmpdir`, which is the head's TMPDIR seen from outside."""

    up_limit_s = 90
    head = HEAD_NODE

    def __init__(self, bed, nodes, *, prtemca=None, slots=SLOTS, hostfile=None, up_options=()):
        self._settle(bed, bed.names(nodes) if isinstance(nodes, int) else list(nodes))
        self.tmpdir.mkdir()
        text = hostfile or "".join(f"{node} slots={slots}\n" for node in self.nodes)
        (self.tmpdir / "hosts").write_text(text)
        self._up_argv = ["--daemonize", "--hostfile", f"{self.env['TMPDIR']}/hosts", *words_of(up_options, prtemca)]

    def _settle(self, bed, nodes):
        """All that does not depend on how it is started; the TMPDIR is not made yet."""
        self.bed, self.nodes = bed, nodes
        self._name = f"d{os.getpid()}.{next(_numbers)}"
        self.tmpdir = bed.disk(self.head) / self._name
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PRTE_MCA_", "PMIX_", "TIDE_"))}
        self.env = {**bed.swarm.environment(own), "TMPDIR": f"/tmp/{self._name}", "PATH": f"{BIN}:/usr/bin:/bin"}
        self._is_up = False
        self._background = []
        dvm._live.append(self)

    # ---- life ----

    def down(self, *options):
        """`tide down`, which must succeed. What is left in the nodes is the bed's to look for."""
        self._is_up = False
        done = self.tool("tide", "down", *options, limit_s=DOWN_LIMIT_S)
        assert done.returncode == 0, f"tide down: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        files = self.files_left()
        assert not files, f"left behind by tide down: {files}"
        return done

    def close(self, *down_options):
        if self not in dvm._live:
            return
        try:
            self._end_background()
            if self._is_up:
                self.down(*down_options)
        finally:
            shutil.rmtree(self.tmpdir, ignore_errors=True)
            dvm._live.remove(self)

    # ---- commands ----

    def up_command(self):
        """The command line of try_up(), for whoever runs it by other means."""
        return self._argv("prte", self._up_argv)

    def _argv(self, program, argv):
        return self.bed.argv(self.head, BIN / program, *argv)

    # ---- what is seen ----

    def names(self):
        """The nodes that the DVM has now, in the order of their numbers."""
        return sorted((node["name"] for node in self.status()["nodes"]), key=lambda name: int(name[4:]))

    def children(self):
        """{node: the nodes directly below it in the tree}"""
        nodes = self.status()["nodes"]
        name_of = {node["rank"]: node["name"] for node in nodes}
        below = {node["name"]: [] for node in nodes}
        for node in nodes:
            if node["parent"] in name_of:
                below[name_of[node["parent"]]].append(node["name"])
        return below

    def wait_for_nodes(self, names, limit_s):
        wait_until(lambda: self.names() == list(names), limit_s=limit_s, what=f"the DVM has {len(names)} nodes")

    def processes(self):
        return self.bed.processes(self.nodes)

    def _logs(self):
        for node in self.nodes:
            for path in sorted(self.bed.disk(node).glob("**/logs/*.log")):
                yield node, path

    def log_sections(self):
        return [(f"{path.name} on {node}", "\n".join(path.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:]))
                for node, path in self._logs()]

    def keep_logs(self, folder):
        """Copies of all logs, for whoever wants to know more than a report shows."""
        for node, path in self._logs():
            target = Path(folder) / node
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / path.name)


def everywhere(dvm, names):
    """A job with one process on each of these nodes, and no other."""
    done = dvm.tool("prun", "-n", len(names), "--map-by", "node", "hostname", limit_s=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(names)
