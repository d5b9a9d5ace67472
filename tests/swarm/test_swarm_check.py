"""`tide check` over real ssh: what it says of many hosts, how soon, and that it leaves nothing."""

import json
import os
import re
import signal
import time

import pytest

from dvm import wait_until
from swarm_dvm import REPORT_LIMIT_S, WRONG_HOSTS, SwarmDvm, spoil


@pytest.fixture
def check(bed):
    """A function hosts, options → how `tide check` ended; with `start` it is only begun."""
    made = []

    def run(hosts, *options, start=False):
        place = SwarmDvm(bed, [], hostfile="".join(f"{host}\n" for host in hosts))
        made.append(place)
        argv = ["check", "--hostfile", f"{place.env['TMPDIR']}/hosts", *options]
        return (place, place.start("tide", *argv)) if start else place.tool("tide", *argv, limit_s=60)

    yield run
    for place in made:
        place.close()
    bed.assert_nothing_left()


@pytest.mark.limit(120)
def test_64_good_hosts(bed, check):
    done = check(bed.names(64), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [host["name"] for host in found["hosts"]] == bed.names(64)
    addresses = {node["name"]: node["addresses"] for node in bed.nodes()}
    for host in found["hosts"]:
        assert set(host["addresses"]) & set(addresses[host["name"]]), host
        assert host["address"] in host["addresses"], host


@pytest.mark.limit(90)
@pytest.mark.parametrize("how", WRONG_HOSTS)
def test_one_wrong_host_of_32_is_told_soon(bed, check, how):
    hosts = bed.names(32)
    hosts[20] = spoil(bed, hosts[20], how)
    began = time.monotonic()
    done = check(hosts)
    seconds = time.monotonic() - began
    assert done.returncode == 1 and not done.stderr, done.stderr
    assert done.stdout.endswith("\n32 hosts: 31 can be used, 1 cannot\n"), done.stdout
    wrong = re.findall(r"^(\w+) cannot be used: (.*\n(?:  .*\n)*)", done.stdout, re.M)
    assert [name for name, _ in wrong] == [hosts[20]] and re.search(WRONG_HOSTS[how], wrong[0][1]), done.stdout
    assert seconds < REPORT_LIMIT_S, f"{seconds:.0f} s"


def test_a_host_under_two_names_is_told(bed, check):
    address = next(node["addresses"][0] for node in bed.nodes() if node["name"] == "node3")
    done = check(["node2", "node3", address])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"node {address} is the machine of node node3: " in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_nothing_is_left_when_it_is_ended(bed, check, number):
    """While all daemons are held before they find their way back."""
    hosts = bed.names(10)
    place, running = check(hosts, "--prtemca", "tide_failpoint", "action.connect:hold", start=True)
    wait_until(lambda: {node for (node, _), words in bed.processes(hosts).items() if "prted --node" in words} == set(hosts),
               limit_s=20, what="the daemons are started")
    head = [pid for (_, pid), words in bed.processes(["node1"]).items() if words.startswith("prte --check")]
    assert len(head) == 1
    os.kill(head[0], number)
    running.communicate(timeout=20)
    assert running.returncode != 0
    wait_until(lambda: not bed.processes(hosts) and not place.files_left(), limit_s=15, what="nothing is left")
