"""The examples for Slurm, as a user submits them."""

import os

import pytest

from dvm import BIN, ROOT, wait_until

ENSEMBLE = ROOT / "examples" / "ensemble.sbatch"
MEMBERS = 24  # a node has four cores
# The first ones stay until the grow has come; the rest would do so at once, if all the slots there are were not used.
MEMBER = "hostname >> {seen}; if [ -e {go} ]; then sleep 2; else until [ -e {go} ]; do sleep 0.1; done; fi"


@pytest.mark.limit(120)
def test_an_elastic_ensemble(slurm):
    said, seen, go = (slurm.fresh(name) for name in ("said", "seen", "go"))
    env = {**slurm.swarm.environment(dict(os.environ)), "TMPDIR": "/tmp", "PATH": f"{BIN}:/usr/bin:/bin"}
    job = slurm.sbatch(said, "-N", 2, "-t", 5, ENSEMBLE, MEMBERS, "sh", "-c", MEMBER.format(seen=seen, go=go), env=env)
    try:
        wait_until(lambda: "grown by 2 nodes" in job.output(), limit_s=60, what=f"it has grown: {job.output()}")
        go.touch()
        job.wait_for(None, 60)
    finally:
        job.cancel()
    assert f"{MEMBERS} members, 0 failed\n" in job.output(), job.output()
    assert "DVM ensemble has ended\n" in job.output(), job.output()
    assert len(set(seen.read_text().split())) == 4, "the nodes that came had work, too"
    assert not slurm.squeue(), "what was asked for has gone back"
