"""How a job may end, given what was done to its nodes."""

import re
from dataclasses import dataclass

NODE_LOST, NOT_STARTED = 120, 125


@dataclass
class Record:
    """One job: where it was to run, when, and how it ended."""
    number: int
    kind: str
    hosts: list
    began: float
    ended: float = 0.0
    status: int | None = None  # None: it did not end in time
    whole: bool = False  # its output is all there, and nothing else
    error: str = ""


def hits(record, strokes):
    """The strokes, (time, fault), that cost a node of this job while it may have run."""
    return [fault for at, fault in strokes
            if fault.costs_nodes and set(fault.nodes) & set(record.hosts) and (not record.ended or at <= record.ended)]


def ended_a_job(stroke, records):
    """Did this stroke, (time, fault), end a job that names a node of it?"""
    at, fault = stroke
    return any(record.status == NODE_LOST and record.began <= at <= record.ended
               and any(node in record.hosts and is_named(node, record.error) for node in fault.nodes) for record in records)


def is_named(node, text):
    return re.search(rf"\b{node}\b", text) is not None


def complaint(record, strokes):
    """None, or what is wrong with how this job ended."""
    struck = hits(record, strokes)
    what = f"job {record.number} ({record.kind} on {len(record.hosts)} nodes, {record.ended - record.began:.1f} s)"
    if record.status is None:
        return f"{what} did not end; struck by: {', '.join(map(str, struck)) or 'nothing'}"
    if record.status == 0 and record.whole:
        return None
    if not struck:
        return (f"{what} was not struck, but ended with status {record.status}"
                f"{'' if record.whole else ' and not all of its output'}: {record.error.strip()[:400]}")
    if record.status == 0:
        return f"{what} ended well and lost output"
    if record.status not in (NODE_LOST, NOT_STARTED):
        return f"{what} lost a node and ended with status {record.status}: {record.error.strip()[:400]}"
    nodes = {node for fault in struck for node in fault.nodes if node in record.hosts}
    if not any(is_named(node, record.error) for node in nodes):
        return f"{what} lost one of {sorted(nodes)} and names none: {record.error.strip()[:400]}"
    return None
