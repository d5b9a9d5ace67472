"""Which endings are legal for a job, given all that was done to it and to the DVM around it. Pure: records in, a
complaint out, so that every rule can be shown to fail (test_chaos_verdict.py)."""

from dataclasses import dataclass, field
from typing import Optional

NOTICED_S = 2.5  # a daemon that was killed so long ago is known to be gone
KILLED, INTERRUPTED, TERMINATED = 137, 130, 143
NODE_LOST, NO_DVM, NO_PLACE = 120, 121, 125


@dataclass
class NodeBlow:
    """A node may be lost: from the blow until it is seen to be out of the DVM (or back for good)."""
    node: str
    at: float
    until: Optional[float] = None
    fatal: bool = True  # sooner or later it will be out
    certain: bool = False  # and at once


@dataclass
class JobBlow:
    kind: str  # kill-client, cut-client, interrupt-client, kill-process
    at: float
    rank: int = 0
    node: str = ""


@dataclass
class History:
    """What happened to the DVM."""
    node_blows: list = field(default_factory=list)
    end: str = ""  # the last stroke of the round
    end_at: float = float("inf")


@dataclass
class Outcome:
    """What became of one submission. `status` as a shell would know it, negative for a signal, None: it did not end."""
    job: object
    began: float
    ended: float
    status: Optional[int]
    out: bytes
    err: str
    blows: list = field(default_factory=list)
    up_nodes: tuple = ()  # where its ranks said "up", if all of them did
    up_at: Optional[float] = None
    acted_at: Optional[float] = None  # when it was told to end by its own submitter


@dataclass(frozen=True)
class Legal:
    status: int
    words: tuple
    why: str


_AFTER_BLOW = {
    "kill-client": [Legal(-9, (), "its client was killed")],
    # Before the client has got so far as to take signals itself, this is the system's way to end it.
    "interrupt-client": [Legal(INTERRUPTED, (), "its client was interrupted"), Legal(-2, (), "the same, very early")],
    "cut-client": [Legal(NO_DVM, ("connect",), "its client lost its connection")],
}

_ENDED_ALONG = [Legal(NO_DVM, (" ",), "the DVM went away")]
_TAKEN_DOWN = [Legal(TERMINATED, ("ended because",), "the DVM was taken down"), *_ENDED_ALONG]
_FORCED_DOWN = [Legal(KILLED, ("ended because",), "the DVM was taken down by force"), *_TAKEN_DOWN]
_ALL_NODES_LOST = [Legal(NODE_LOST, ("node v",), "the warden's nodes were lost"), Legal(NO_PLACE, (" ",), "no nodes are left"),
                   *_TAKEN_DOWN]

_AFTER_END = {
    "down": _TAKEN_DOWN, "down-force": _FORCED_DOWN, "interrupt-head": _TAKEN_DOWN, "kill-head": _ENDED_ALONG,
    "kill-head-and-warden": _ALL_NODES_LOST, "kill-head-daemon-frozen": _ENDED_ALONG, "kill-warden": _ALL_NODES_LOST,
    "kill-warden-daemon-frozen": _ALL_NODES_LOST, "cut-warden": _ALL_NODES_LOST,
}


def touches(outcome, blow):
    """May this node's loss have met the job?"""
    if outcome.job.own_dvm or (outcome.job.hosts and blow.node not in outcome.job.hosts):
        return False
    return blow.at <= outcome.ended and (blow.until is None or outcome.began <= blow.until)


def legal_endings(outcome, history):
    job = outcome.job
    legal = [Legal(job.status, tuple(job.reasons), "what it does if nothing happens to it")]
    for blow in outcome.blows:
        if blow.kind == "kill-process":
            legal.append(Legal(KILLED, (f"process {blow.rank} ", f"node {blow.node} ", "signal 9"),
                               f"process {blow.rank} was killed"))
        legal += _AFTER_BLOW.get(blow.kind, [])
    for blow in history.node_blows:
        if touches(outcome, blow):
            legal.append(Legal(NODE_LOST, (f"node {blow.node} was lost",), f"node {blow.node} was struck"))
        if blow.node in job.hosts and blow.at <= outcome.ended:
            legal.append(Legal(NO_PLACE, (f"'{blow.node}'",), f"it names node {blow.node}, which was struck"))
    if history.end and not job.own_dvm and outcome.ended >= history.end_at:
        legal += _AFTER_END[history.end]
    return legal


def certain_losses(outcome, history):
    """Nodes and processes that the job lost while it could not end by itself: it must say so."""
    if outcome.up_at is None or outcome.acted_at is None:
        return []
    def in_between(at):
        return outcome.up_at < at < min(outcome.acted_at, history.end_at) - NOTICED_S
    lost = [f"node {blow.node} was lost" for blow in history.node_blows
            if blow.certain and blow.node in outcome.up_nodes and not outcome.job.own_dvm and in_between(blow.at)]
    return lost + [f"process {blow.rank} " for blow in outcome.blows
                   if blow.kind == "kill-process" and in_between(blow.at)]


def _wrong_output(outcome, as_planned):
    if as_planned and outcome.status == 0 and outcome.err:
        return f"it succeeded and still says {outcome.err!r}"
    return (outcome.job.whole if as_planned else outcome.job.partial)(outcome.out)


def judge(outcome, history):
    """None, or what is wrong with the ending of this job."""
    if outcome.status is None:
        return "it is stuck: no end within its deadline"
    legal = legal_endings(outcome, history)
    fitting = [each for each in legal
               if each.status == outcome.status and all(word in outcome.err for word in each.words)]
    if not fitting:
        return (f"exit status {outcome.status} and {outcome.err!r}; legal are only "
                + "; ".join(f"{each.status} with {list(each.words)} ({each.why})" for each in legal))
    if outcome.status > 0 and not outcome.err.strip():
        return f"exit status {outcome.status} and no reason on standard error"
    lost = certain_losses(outcome, history)
    unexplained = not [blow for blow in outcome.blows if "client" in blow.kind]
    if lost and unexplained and not any(words in outcome.err for words in lost):
        return f"it must have noticed one of {lost}, and ended with {outcome.status}: {outcome.err!r}"
    return _wrong_output(outcome, fitting[0] is legal[0])
