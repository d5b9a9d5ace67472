"""The tree obeys our own checks, and each check is shown to be able to fail."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tide_lint import lengths, messages as catalogue, rooms, wording  # noqa: E402


@pytest.mark.parametrize("part", [rooms, lengths, catalogue, wording], ids=lambda part: part.__name__)
def test_tree_is_clean(part):
    findings = part.check(ROOT)
    assert not findings, "\n" + "\n".join(map(str, findings))


@pytest.fixture
def tree(tmp_path):
    """A function that writes files into a fresh repository and returns its root."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=30)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def messages(findings):
    return [str(finding) for finding in findings]


# ---- rooms ----

@pytest.mark.parametrize("path, include, allowed", [
    ("src/core/a.cpp", '"base/b.hpp"', True),
    ("src/core/a.cpp", '"core/b.hpp"', True),
    ("src/core/a.cpp", '"wire/job.pb.h"', True),
    ("src/core/a.cpp", '"net/b.hpp"', False),
    ("src/base/a.hpp", '"core/b.hpp"', False),
    ("src/wire/a.hpp", '"core/b.hpp"', False),
    ("src/net/a.cpp", '"core/b.hpp"', False),
    ("src/exec/a.cpp", '"launch/b.hpp"', False),
    ("src/exec/a.cpp", '"core/b.hpp"', True),
    ("src/sim/a.cpp", '"net/b.hpp"', False),
    ("src/cli/a.cpp", '"net/b.hpp"', True),
    ("src/cli/a.cpp", '"core/b.hpp"', False),
    ("src/cli/a.cpp", '"head/b.hpp"', False),
    ("src/cli/a.cpp", '"say/b.hpp"', True),
    ("src/say/a.cpp", '"base/b.hpp"', True),
    ("src/say/a.cpp", '"wire/b.hpp"', False),
    ("src/base/a.hpp", '"say/b.hpp"', False),
    ("src/head/a.cpp", '"exec/b.hpp"', True),
    ("src/head/a.cpp", '"daemon/b.hpp"', False),
    ("src/head/a.cpp", '"cli/b.hpp"', False),
    ("src/core/a.cpp", '"b.hpp"', False),
    ("src/core/a.cpp", '"core/missing.hpp"', False),
    ("src/core/a.cpp", "<base/b.hpp>", False),
    ("bench/a.cpp", '"core/b.hpp"', True),
    ("src/cellar/a.cpp", '"base/b.hpp"', False),
])
def test_include_direction(tree, path, include, allowed):
    files = {f"src/{room}/b.hpp": "#pragma once\n" for room in rooms.MAY_INCLUDE}
    files[path] = f"#include {include}\n"
    found = messages(rooms.check(tree(files)))
    assert (not found) == allowed, found
    assert allowed or found[0].startswith(f"{path}:1:")


@pytest.mark.parametrize("path, header, allowed", [
    ("src/core/a.cpp", "<chrono>", False),
    ("src/core/a_test.cpp", "<chrono>", True),
    ("src/core/a.cpp", "<sys/socket.h>", False),
    ("src/core/a_test.cpp", "<asio/ip/tcp.hpp>", False),
    ("src/core/a.cpp", "<vector>", True),
    ("src/net/a.cpp", "<asio.hpp>", True),
    ("src/net/a.cpp", "<chrono>", True),
    ("src/net/a.cpp", "<net/if.h>", True),
    ("src/cli/a.cpp", "<hwloc.h>", False),
    ("src/daemon/a.cpp", "<hwloc.h>", True),
    ("src/daemon/a.cpp", "<pmix_server.h>", False),
    ("src/pmix/a.cpp", "<pmix_server.h>", True),
    ("src/head/a.cpp", "<spdlog/spdlog.h>", False),
    ("src/base/log.cpp", "<spdlog/spdlog.h>", True),
    ("src/net/a.cpp", "<CLI/CLI.hpp>", False),
])
def test_foreign_headers(tree, path, header, allowed):
    found = messages(rooms.check(tree({path: f"#include {header}\n"})))
    assert (not found) == allowed, found


# ---- lengths ----

def body(lines):
    return "".join(f"  use({i});\n" for i in range(lines))


LONG = lengths.FUNCTION_LINES - 1  # with the opening and the closing line: one over the limit
FUNCTION_FORMS = {
    "free": "void grow(int a) {{\n{}}}\n",
    "in a namespace": "namespace tide::core {{\nvoid grow() {{\n{}}}\n}}\n",
    "member": "Status Head::grow(const A& a, B b) const noexcept {{\n{}}}\n",
    "inline member": "class A : public B {{\n public:\n  int grow() const override {{\n{}}}\n}};\n",
    "trailing type": "auto grow(A a) -> Result<B> {{\n{}}}\n",
    "template": "template <class T>\nstd::vector<T> grow(T t) {{\n{}}}\n",
    "constructor": "A::A(int b) : b_(b), c_{{1}} {{\n{}}}\n",
    "operator": "bool operator==(const A& a, const A& b) {{\n{}}}\n",
    "test": "TEST(Grow, Completes) {{\n{}}}\n",
    "with inner blocks": "void grow() {{\n  if (a) {{\n{}  }}\n}}\n",
    "with odd text": "void grow() {{\n  f(\"}}\"); g('}}'); int n = 1'000;  // }}\n{}}}\n",
    "after a struct result": "struct A b(int c) {{ return {{}}; }}\nvoid grow() {{\n{}}}\n",
}


@pytest.mark.parametrize("form", FUNCTION_FORMS.values(), ids=FUNCTION_FORMS.keys())
def test_long_function_is_found(tree, form):
    found = messages(lengths.check(tree({"src/base/a.cpp": form.format(body(LONG))})))
    assert len(found) == 1 and "is the limit" in found[0], found


@pytest.mark.parametrize("text", [
    FUNCTION_FORMS["free"].format(body(LONG - 1)),
    "constexpr int kTable[] = {\n" + "  1,\n" * 100 + "};\n",
    "namespace tide {\n" + "int a();\n" * 100 + "}\n",
    "struct A {\n" + "  int a = 0;\n" * 100 + "};\n",
    "enum class A : int {\n" + "  kB,\n" * 100 + "};\n",
    "".join(f"void f{i}() {{\n  g();\n}}\n" for i in range(60)),
    "#define LONG \\\n" + "  a(); \\\n" * 100 + "  b()\n",
], ids=["at the limit", "table", "namespace", "struct", "enum", "many short", "macro"])
def test_what_is_not_too_long(tree, text):
    assert not lengths.check(tree({"src/base/a.cpp": text}))


def test_long_file_and_long_python_function(tree):
    root = tree({
        "src/base/a.cpp": "int a;\n" * (lengths.FILE_LINES + 1),
        "src/base/b.cpp": "int a;\n" * lengths.FILE_LINES,
        "scripts/a.py": "def grow():\n" + "    use()\n" * lengths.FUNCTION_LINES,
    })
    found = messages(lengths.check(root))
    assert len(found) == 2 and found[0].startswith("scripts/a.py:1:"), found
    assert found[1].startswith("src/base/a.cpp:")


# ---- messages ----

@pytest.mark.parametrize("code", [
    'return Error{ErrorCode::kNotFound, "no such thing"};',
    'return Error{ErrorCode::kNotFound,\n             fmt::format("no {}", name)};',
    'return fail(line, bad("what"));',
    'complain(context.line, "DVM " + name + " is there");',
    'fail(job, state, 1, fmt::format("job {}", id), 0);',
    'error.message += "; try again";',
    'return Error{code, say::no_dvm().message + " at all"};',
    'tell(R"(raw)");',
])
def test_message_in_place_is_found(tree, code):
    found = messages(catalogue.check(tree({"src/cli/a.cpp": f"void f() {{\n  {code}\n}}\n"})))
    assert len(found) >= 1 and found[0].startswith("src/cli/a.cpp:2:"), found


@pytest.mark.parametrize("path, code", [
    ("src/cli/a.cpp", "return say::no_dvm();"),
    ("src/cli/a.cpp", 'return fail(line, say::unbuilt_value("--map-by " + name, "slot is"));'),
    ("src/cli/a.cpp", 'return fail(line, system_error("cannot read " + path, errno));'),
    ("src/cli/a.cpp", 'print("a table"); // complain("x")'),
    ("src/cli/a.cpp", "return Error{code, text};"),
    ("src/cli/a_test.cpp", 'return Error{code, "text"};'),
    ("src/net/a.cpp", 'return Error{code, "text"};'),
])
def test_message_from_the_catalogue_is_fine(tree, path, code):
    assert not catalogue.check(tree({path: f"void f() {{\n  {code}\n}}\n"}))


# ---- wording ----

@pytest.mark.parametrize("path, text", [
    ("src/base/a.cpp", "// TO" "DO: later\n"),
    ("scripts/a.py", "# FIX" "ME\n"),
    ("src/base/a_test.cpp", "TEST(A, DISAB" "LED_B) {}\n"),
    ("src/base/a_test.cpp", "GTEST_SK" "IP();\n"),
    ("docs/a.md", "see /ro" "ot/notes\n"),
    ("src/base/a.cpp", "int a; \n"),
    ("src/base/a.cpp", "int a;"),
    ("src/base/a.hpp", "#include <vector>\n#pragma once\n"),
    ("src/base/a.hpp", "#ifndef A\n#define A\n#endif\n"),
])
def test_wording_is_found(tree, path, text):
    found = messages(wording.check(tree({path: text})))
    assert len(found) == 1, found


def test_wording_that_is_fine(tree):
    assert not wording.check(tree({
        "src/base/a.hpp": "// What A is for.\n#pragma once\n\nstruct A {};\n",
        "src/base/a_test.cpp": 'GTEST_SK' 'IP() << "needs two machines";\n',
        "docs/a.md": "a tmp/ro" "ot/x is no machine's\n",
        "build.log": "TO" "DO\n",
    }))


def test_ignored_files_are_not_ours(tree):
    root = tree({".gitignore": "/build/\n", "build/a.cpp": "// TO" "DO\n", "src/base/b.cpp": "int b;\n"})
    assert [str(path) for path in wording.our_files(root)] == [".gitignore", "src/base/b.cpp"]
