"""Each rule of the judge, shown to let pass what is right and to find what is wrong."""

import pytest
from kinds import anything, make_job, nothing_expected
from plan import JobPlan
from verdict import History, JobBlow, NodeBlow, Outcome, judge


class Job:
    """A job with an ending of its own; what is not said is that of `true`."""
    def __init__(self, status=0, reasons=(), hosts=(), own_dvm=False, whole=nothing_expected, partial=anything):
        self.kind, self.status, self.reasons, self.hosts = "test", status, reasons, hosts
        self.own_dvm, self.whole, self.partial = own_dvm, whole, partial


def ended(status, err="", job=None, blows=(), out=b"", began=10.0, at=12.0, **more):
    return Outcome(job or Job(), began, at, status, out, err, list(blows), **more)


def made(kind, ranks=2, salt=5):
    return make_job(JobPlan(kind, ranks, (), salt), "0.7", "dvm")


QUIET = History()
LOST = "tide run: job x@1: node v3 was lost with rank 0: its daemon ended\n"


def test_undisturbed_success_passes():
    assert judge(ended(0), QUIET) is None


@pytest.mark.parametrize("outcome", [
    ended(None), ended(1, "a reason"), ended(120, LOST), ended(121, "the connection to the DVM is lost"), ended(0, out=b"x"),
    ended(0, "a word too much"), ended(-11), ended(-9), ended(130, "SIGINT")])
def test_an_undisturbed_job_has_only_its_own_ending(outcome):
    assert judge(outcome, QUIET)


def test_an_expected_failure_needs_its_reason():
    job = Job(status=16, reasons=("process 3 ", "status 16"))
    assert judge(ended(16, "process 3 (pid 1) on node v1 exited with status 16", job), QUIET) is None
    assert judge(ended(16, "process 2 (pid 1) on node v1 exited with status 16", job), QUIET)
    assert judge(ended(0, "", job), QUIET)


@pytest.mark.parametrize("status, err, blow, legal", [
    (-9, "", JobBlow("kill-client", 11), True), (-9, "", JobBlow("cut-client", 11), False),
    (121, "the connection to the DVM is lost", JobBlow("cut-client", 11), True), (121, "", JobBlow("cut-client", 11), False),
    (130, "SIGINT: the job is being ended", JobBlow("interrupt-client", 11), True),
    (130, "", JobBlow("interrupt-client", 11), False),
    (137, "process 1 (pid 3) on node v2 was ended by signal 9", JobBlow("kill-process", 11, 1, "v2"), True),
    (137, "process 0 (pid 3) on node v2 was ended by signal 9", JobBlow("kill-process", 11, 1, "v2"), False),
    (137, "process 1 (pid 3) on node v4 was ended by signal 9", JobBlow("kill-process", 11, 1, "v2"), False),
    (0, "", JobBlow("kill-client", 11), True)])
def test_a_struck_job_says_what_struck_it(status, err, blow, legal):
    assert (judge(ended(status, err, blows=[blow]), QUIET) is None) == legal


@pytest.mark.parametrize("node, at, until, hosts, legal", [
    ("v3", 11, 11.5, (), True),  # while it ran
    ("v3", 9, 10.5, (), True),  # before it began, and not noticed yet
    ("v3", 9, 9.5, (), False),  # long over
    ("v3", 13, None, (), False),  # later
    ("v4", 11, 11.5, (), False),  # another one
    ("v3", 11, 11.5, ("v3", "v5"), True),
    ("v3", 11, 11.5, ("v1", "v5"), False)])  # it was not there
def test_only_a_struck_node_is_lost(node, at, until, hosts, legal):
    history = History([NodeBlow(node, at, until)])
    assert (judge(ended(120, LOST, Job(hosts=hosts)), history) is None) == legal
    assert judge(ended(120, LOST, Job(own_dvm=True)), history), "its DVM is another one"


def test_only_who_names_a_struck_node_finds_no_place():
    history = History([NodeBlow("v3", 5, 6)])
    err = "host 'v3' is not a node of this DVM"
    assert judge(ended(125, err, Job(hosts=("v3",))), history) is None
    assert judge(ended(125, err, Job(hosts=("v4",))), history)
    assert judge(ended(125, "not enough slots"), history)


def test_who_loses_a_node_must_notice():
    history = History([NodeBlow("v3", 11, 11.2, certain=True)])
    job = Job(status=143, reasons=("on request",), whole=anything)
    facts = {"up_nodes": ("v3",), "up_at": 10.5, "at": 20.0, "job": job}
    assert judge(ended(143, "ended on request", acted_at=19.0, **facts), history), "it went on without its node"
    assert judge(ended(120, LOST, acted_at=19.0, **facts), history) is None
    assert judge(ended(143, "ended on request", acted_at=12.0, **facts), history) is None, "too soon to know"
    elsewhere = {**facts, "up_nodes": ("v4",)}
    assert judge(ended(143, "ended on request", acted_at=19.0, **elsewhere), history) is None


def test_who_loses_a_process_must_notice():
    job = Job(status=143, reasons=("on request",), whole=anything)
    outcome = ended(143, "ended on request", job, [JobBlow("kill-process", 11, 1, "v2")], up_nodes=("v2",), up_at=10.5,
                    acted_at=19.0, at=20.0)
    assert judge(outcome, QUIET)


@pytest.mark.parametrize("end, status, err, legal", [
    ("down", 143, "ended because the DVM is taken down", True), ("down", 120, LOST, False),
    ("down", 137, "ended because the DVM is taken down", False),
    ("down-force", 137, "ended because the DVM is taken down", True), ("kill-head", 121, "no DVM is running", True),
    ("kill-head", 143, "ended because the DVM is taken down", False), ("kill-warden", 120, LOST, True),
    ("kill-head", 0, "", True)])
def test_the_end_of_the_dvm(end, status, err, legal):
    assert (judge(ended(status, err), History(end=end, end_at=11.5)) is None) == legal
    before = judge(ended(status, err), History(end=end, end_at=12.5))
    assert status == 0 or before, "it had ended already"


def test_output_is_looked_at():
    wide = made("wide", ranks=3)
    assert judge(ended(0, job=wide, out=b"2\n0\n1\n"), QUIET) is None
    assert judge(ended(0, job=wide, out=b"2\n0\n"), QUIET)
    echo = made("echo")
    killed = [JobBlow("kill-process", 11, 0, "v1")]
    err = "process 0 (pid 9) on node v1 was ended by signal 9"
    assert judge(ended(0, job=echo, out=echo.input), QUIET) is None
    assert judge(ended(0, job=echo, out=echo.input[:-1]), QUIET)
    assert judge(ended(137, err, echo, killed, echo.input[:100]), QUIET) is None
    assert judge(ended(137, err, echo, killed, b"not what it was given"), QUIET)
    volume = made("volume", ranks=1)
    assert judge(ended(0, job=volume, out=b"\x01" * (1 << 20)), QUIET)
