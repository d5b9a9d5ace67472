"""Changes of size of a DVM over ssh, for bench/many_machines: a grow beside plain ssh to the same machines, and the end of a
shrink beside the end of the last process on the machines that it releases."""

from measure import BIN, quantile, run_tool, share_of_others
from swarm_dvm import HEAD_NODE
from swarm_growing import ElasticSwarmDvm

WAYS = {"tree, radix 64 (default)": {}, "tree, radix 2": {"rml_radix": 2},
        "flat, radix 64": {"plm_ssh_no_tree_spawn": 1}}
LIMIT_S = 60


class ChangeRow:
    """What one way of starting took, by one number of nodes; a list with an entry for each round."""

    def __init__(self, way, count):
        self.way, self.count = way, count
        self.of_ssh, self.grow_ms, self.ssh_ms, self.shrink_ms, self.after_ms = [], [], [], [], []


def figures(lines):
    """{name: ms} of what change_timer prints."""
    return {name: float(us) / 1000 for name, us in (line.split() for line in lines)}


class Changes:
    def __init__(self, bed, options, ssh_script):
        """`ssh_script` (hosts): a shell command that logs in to all of them at once."""
        self._bed, self._options, self._ssh_script = bed, options, ssh_script
        self.rows = [ChangeRow(way, count) for way in WAYS for count in options.changes]
        self.busy = []

    def run(self):
        for _ in range(self._options.change_rounds):
            for way in WAYS:
                self.busy.append(share_of_others())
                self._round(way)
        return self

    def _round(self, way):
        first = self._options.change_nodes
        with ElasticSwarmDvm(self._bed, first, seen=first + max(self._options.changes), prtemca=WAYS[way]) as dvm:
            for row in self.rows:
                if row.way == way:
                    self._measure(dvm, row, self._bed.names(first + row.count)[first:])

    def _measure(self, dvm, row, names):
        """The machines are logged in to by hand, come, and go."""
        timer = [self._options.tools / "command_timer", "1", "1"]
        ssh_ms = float(run_tool([*timer, *self._bed.argv(HEAD_NODE, "sh", "-c", self._ssh_script(names))],
                                self._bed.swarm.environment(), LIMIT_S)[-1]) / 1000
        grown = self._change(dvm, "-", "grow", names)
        pids = [str(pid) for (_, pid), words in self._bed.processes(names).items() if "prted" in words]
        shrunk = self._change(dvm, ",".join(pids), "shrink", names)
        row.of_ssh.append(grown["ended_us"] / ssh_ms)
        row.grow_ms.append(grown["ended_us"])
        row.ssh_ms.append(ssh_ms)
        row.shrink_ms.append(shrunk["ended_us"])
        row.after_ms.append(shrunk["ended_us"] - shrunk["gone_us"])

    def _change(self, dvm, pids, what, names):
        command = self._bed.argv(HEAD_NODE, BIN / "tide", what, "--host", ",".join(names), "--wait")
        return figures(run_tool([self._options.tools / "change_timer", pids, *command], dvm.env, LIMIT_S))

    def print(self):
        options = self._options
        print(f"\nGrow of a DVM of {options.change_nodes} nodes until it is done, beside one login to each new machine, all at "
              f"once ({options.change_rounds} rounds; others used {quantile(self.busy, 0.5):.0%} of the processors, at most "
              f"{max(self.busy):.0%}), and the shrink that takes them back: the middle one (middle half)")
        print(f"  {'':<28}{'nodes':>5}   {'grow / ssh':<22}{'grow, ms':>9}{'ssh, ms':>9}{'shrink, ms':>12}"
              "   told so long after the last process was gone, ms")
        for row in self.rows:
            ratio = f"{quantile(row.of_ssh, 0.5):.2f} ({quantile(row.of_ssh, 0.25):.2f}–{quantile(row.of_ssh, 0.75):.2f})"
            after = (f"{quantile(row.after_ms, 0.5):.1f} ({quantile(row.after_ms, 0.25):.1f}–{quantile(row.after_ms, 0.75):.1f})"
                     f", {min(row.after_ms):.1f} to {max(row.after_ms):.1f}")
            print(f"  {row.way:<28}{row.count:>5}   {ratio:<22}{quantile(row.grow_ms, 0.5):>9.0f}"
                  f"{quantile(row.ssh_ms, 0.5):>9.0f}{quantile(row.shrink_ms, 0.5):>12.0f}   {after}")
