"""docs/mutation.md: what noticed which mutant, in the last run of all."""

from tide_test.mutation import WORLDS
from tide_test.process import capture

DOCUMENT = "docs/mutation.md"
HEADING = "## The last run of all\n"
GIT_LIMIT_S = 30


def commit_of(root):
    """The commit, and whether the sources are those of it."""
    commit = capture(["git", "rev-parse", "--short=12", "HEAD"], GIT_LIMIT_S, cwd=root).strip()
    changed = capture(["git", "status", "--porcelain", "--", "src", "tests/mutation"], GIT_LIMIT_S, cwd=root)
    return commit + (", with changes that were not committed" if changed.strip() else "")


def _cell(text):
    return text.replace("|", "\\|") or "–"


def _row(verdict):
    name = f"`{verdict.patch.name}`"
    if verdict.survived or verdict.trouble:
        name += " **survived**" if verdict.survived else " **does not compile**"
    unit = f"`{verdict.unit}`" if verdict.unit else ""
    cells = [name, verdict.patch.about, unit, verdict.sim, f"{verdict.seconds:.0f}"]
    return f"| {' | '.join(map(_cell, cells))} |"


def render(verdicts, commit, seconds):
    caught = sum(bool(verdict.caught_by) for verdict in verdicts)
    unit = sum(bool(verdict.unit) for verdict in verdicts)
    sim = sum(bool(verdict.sim) for verdict in verdicts)
    lines = [
        HEADING,
        f"Commit {commit}: {caught} of {len(verdicts)} mutants caught, {unit} by unit tests, {sim} by the "
        f"simulator in {WORLDS} worlds, in {seconds / 60:.0f} minutes.",
        "",
        "| patch | what it breaks | unit test | simulator | s |",
        "|---|---|---|---|---|",
        *map(_row, verdicts),
    ]
    return "\n".join(lines) + "\n"


def write(root, verdicts, commit, seconds):
    """Replaces the table; what stands before its heading stays."""
    path = root / DOCUMENT
    kept = path.read_text().split(HEADING)[0]
    path.write_text(kept + render(verdicts, commit, seconds))
