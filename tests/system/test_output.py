"""Standard streams: complete and in order, whoever ends first."""

import os
import random
import signal
import threading

import pytest

from dvm import TIME_SCALE, is_alive, wait_until
from jobs import Gate, Streams, writer

PIECE_BYTES = 1 << 20


def read_all(pipe, take):
    while data := pipe.read1(PIECE_BYTES):
        take(data)


@pytest.mark.limit(120)
def test_four_ranks_of_a_hundred_megabytes_byte_for_byte(shared_dvm):
    streams = Streams(ranks=4, blocks=100)
    job = shared_dvm.start("tide", "run", "-n", "4", "--map-by", "node", *writer(100), text=False)
    read_all(job.stdout, streams.take)
    assert job.wait(timeout=30 * TIME_SCALE) == 0
    streams.check()


@pytest.mark.user
def test_both_streams_of_several_ranks_byte_for_byte(shared_dvm):
    """Standard output and error of the same processes do not get into each other."""
    size = 1000003
    job = shared_dvm.start("prun", "-n", "2", "sh", "-c", '"$@" & "$@" >&2; wait', "sh", *writer(6, size),
                           text=False)
    out, error = Streams(2, 6, size), Streams(2, 6, size)
    reader = threading.Thread(target=read_all, args=(job.stderr, error.take))
    reader.start()
    read_all(job.stdout, out.take)
    reader.join()
    assert job.wait(timeout=30 * TIME_SCALE) == 0
    out.check()
    error.check()


# row:L15
def test_output_of_a_process_that_ended_is_not_lost_on_a_slow_reader(shared_dvm):
    """The process has exited and its client takes nothing for a while: all of it comes later."""
    size = 60000  # fits into the process's own pipe, so it can end without a reader
    gate = Gate(shared_dvm.tmpdir / "gate-slow")
    job = shared_dvm.start("tide", "run", "-n", "1", "sh", "-c",
                           f"echo $$; {gate.wait_command()}; head -c {size} /dev/zero", text=False)
    pid = int(job.stdout.readline())
    job.send_signal(signal.SIGSTOP)
    try:
        wait_until(gate.try_open, what="the process waits")
        wait_until(lambda: not is_alive(pid), what="the process ends")
    finally:
        job.send_signal(signal.SIGCONT)
    out, _ = job.communicate(timeout=30 * TIME_SCALE)
    assert (job.returncode, out) == (0, bytes(size))


# row:L15
@pytest.mark.user
def test_job_ends_only_when_a_background_child_has_let_go_the_pipe(shared_dvm):
    """The process is gone first, the output later: nothing of it is lost."""
    gate = Gate(shared_dvm.tmpdir / "gate-late")
    job = shared_dvm.start("tide", "run", "-n", "1", "sh", "-c",
                           f"({gate.wait_command()}; echo late; echo later >&2) & echo first; exit 0")
    assert job.stdout.readline() == "first\n"
    wait_until(lambda: shared_dvm.jobs()["jobs"], what="the job is known")
    wait_until(gate.try_open, what="the background child waits")
    done = shared_dvm.finish(job)
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\n", "later\n")


# row:L15
def test_job_ends_only_when_the_process_has_exited(shared_dvm):
    """The output is closed first, the exit comes later and its status counts."""
    gate = Gate(shared_dvm.tmpdir / "gate-exit")
    job = shared_dvm.start("tide", "run", "-n", "1", "sh", "-c",
                           f"echo all; exec >&- 2>&-; {gate.wait_command()}; exit 9")
    assert job.stdout.readline() == "all\n"
    wait_until(lambda: [row for row in shared_dvm.jobs()["jobs"] if row["state"] == "PRTE_JOB_STATE_RUNNING"],
               what="the job still runs")
    assert job.poll() is None
    wait_until(gate.try_open, what="the process waits")
    assert shared_dvm.finish(job).returncode == 9


# row:L15
def test_failed_process_with_a_child_on_its_pipe_does_not_hold_the_job(shared_dvm):
    """Once a job has to end, what its processes left behind is ended too."""
    job = shared_dvm.start("tide", "run", "-n", "1", "sh", "-c", "trap '' TERM; sleep 1007 & echo $!; exit 4")
    child = int(job.stdout.readline())
    assert shared_dvm.finish(job).returncode == 4
    wait_until(lambda: not is_alive(child), what="the child ends")


def test_what_a_job_leaves_in_its_group_is_ended(shared_dvm):
    done = shared_dvm.run("-n", "2", "sh", "-c", "sleep 1008 > /dev/null 2>&1 & echo $!")
    assert done.returncode == 0
    for pid in map(int, done.stdout.split()):
        wait_until(lambda: not is_alive(pid), what=f"background process {pid} ends")


# ---- how output is shown ----

@pytest.mark.user
@pytest.mark.parametrize("option", [["--output", "tag"], ["--tag-output"]])
def test_tagged_lines(shared_dvm, option):
    done = shared_dvm.run("-n", "3", *option, "sh", "-c", "echo out $TIDE_RANK; echo err $TIDE_RANK >&2; printf end")
    assert done.returncode == 0
    number = max(row["number"] for row in shared_dvm.jobs("--all")["jobs"])
    assert sorted(done.stdout.splitlines()) == sorted(
        f"[{number},{rank}]<stdout>: {text}" for rank in range(3) for text in (f"out {rank}", "end"))
    errors = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert sorted(errors) == [f"[{number},{rank}]<stderr>: err {rank}" for rank in range(3)]


def test_merged_streams(shared_dvm):
    done = shared_dvm.run("-n", "1", "--output", "merge-stderr-to-stdout", "sh", "-c", "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\nerr\n", "")


def test_bytes_that_are_no_text_pass_unchanged(shared_dvm):
    done = shared_dvm.run("-n", "1", "sh", "-c", r"printf '\000\377\r\n\033[0mno newline'", text=False)
    assert done.stdout == b"\x00\xff\r\n\x1b[0mno newline"


def test_reader_that_goes_away_ends_the_job(shared_dvm):
    job = shared_dvm.start("tide", "run", "-n", "2", "yes", text=False)
    assert job.stdout.read(4) == b"y\ny\n"
    job.stdout.close()
    assert job.wait(timeout=20 * TIME_SCALE) != 0
    job.stdout = None
    wait_until(lambda: not shared_dvm.jobs()["jobs"], what="the job ends")


# ---- standard input ----

@pytest.mark.user
@pytest.mark.parametrize("where, reason", [("/dev/full", "No space left"), ("&-", "Bad file descriptor")])
@pytest.mark.parametrize("command", ["tide status", "tide jobs --all --json", "tide params", "tide --help",
                                     "tide run --help", "prun --version", "prte --help"])
def test_an_answer_that_cannot_be_written_is_a_failure(shared_dvm, command, where, reason):
    done = shared_dvm.shell(f"{command} >{where}")
    assert done.returncode == 1
    assert f"cannot write to standard output: {reason}" in done.stderr


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
def test_a_job_whose_output_cannot_be_written_is_ended(shared_dvm, where):
    done = shared_dvm.shell(f"prun -n 1 sh -c 'echo x; sleep 1000' >{where}")
    assert done.returncode == 143
    assert "cannot write output" in done.stderr
    assert shared_dvm.shell(f"prun -n 1 true >{where}").returncode == 0


def test_a_job_whose_errors_cannot_be_written_is_ended(shared_dvm):
    script = "while :; do echo x >&2; sleep 0.01; done"
    assert shared_dvm.shell(f"prun -n 1 sh -c '{script}' 2>/dev/full").returncode == 143
    assert shared_dvm.shell(f"prun -n 1 sh -c '{script}' 2>&1 >/dev/null | head -1").stdout == "x\n"


def test_input_that_cannot_be_read_is_a_failure(shared_dvm):
    done = shared_dvm.shell("prun -n 1 cat </")
    assert done.returncode == 1 and done.stdout == ""
    assert "cannot read standard input: Is a directory" in done.stderr
    assert shared_dvm.shell("prun -n 1 sh -c 'cat; exit 3' </").returncode == 3
    assert shared_dvm.shell("prun -n 1 cat <&-").returncode == 0


def test_input_goes_to_rank_zero_only(shared_dvm):
    done = shared_dvm.run("-n", "3", "--output", "tag", "cat", input="hello\n")
    assert done.returncode == 0
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["0]<stdout>: hello"]


def test_input_goes_to_the_rank_asked_for_or_none(shared_dvm):
    done = shared_dvm.run("-n", "3", "--stdin", "2", "--output", "tag", "cat", input="hello\n")
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["2]<stdout>: hello"]
    assert shared_dvm.run("-n", "2", "--stdin", "none", "cat", input="hello").stdout == ""


@pytest.mark.parametrize("size", [0, 1, 65536, 20_000_003])
def test_input_comes_back_byte_for_byte(shared_dvm, size):
    data = random.Random(size).randbytes(size)
    done = shared_dvm.run("-n", "2", "--map-by", "node", "cat", input=data, text=False)
    assert done.returncode == 0
    assert done.stdout == data


def test_input_that_nobody_reads_does_not_hold_the_job(shared_dvm):
    done = shared_dvm.run("-n", "1", "true", input=bytes(20_000_000), text=False)
    assert done.returncode == 0


def test_reader_of_the_first_line_gets_it_at_once(shared_dvm):
    """Input is passed on as it comes, not when it ends."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as keyboard:
        job = shared_dvm.start("tide", "run", "-n", "1", "sh", "-c", "read a; echo got $a; read b; echo got $b",
                               stdin=reading)
        os.close(reading)
        keyboard.write(b"one\n")
        assert job.stdout.readline() == "got one\n"
        keyboard.write(b"two\n")
        assert job.stdout.readline() == "got two\n"
        assert job.wait(timeout=20 * TIME_SCALE) == 0
