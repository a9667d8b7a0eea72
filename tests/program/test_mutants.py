# SPDX-License-Identifier: Apache-2.0
# tests/campaign/mutants: which places of a source it changes, and how. A mutation in a comment or a
# string would survive every test, and say nothing.
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "campaign/mutants"))

import mutants

TEXT = """\
#include <a+b>
#define X 1 + 2
// if (x < 1) { y = 2; }
static_assert(sizeof(int) == 4);
int f(const std::vector<int>& v, int* p) {
  const char* text = "a < b && 3";  /* c == d */
  if (const int n = g(v); n >= 10 && !h(n)) {
    count += n * 2;
    throw_errno(name_);
  }
  return true ? 0x10 : 1'000;
}
"""


def test_what_is_mutated():
    found = {(mutants.line_of(TEXT, begin), TEXT[begin:end], instead) for begin, end, instead, _ in mutants.mutants_of(TEXT)}
    assert found == {
        (7, ">=", ">"), (7, "&&", "||"), (7, "10", "11"), (7, " n >= 10 && !h(n)", " !(n >= 10 && !h(n))"),
        (8, "+=", "-="), (8, "*", "+"), (8, "2", "3"), (8, "count += n * 2", ""),
        (9, "throw_errno(name_)", ""),
        (11, "true", "false"),
    }


def test_what_a_survivor_is_called():
    [mutant] = [one for one in mutants.mutants_of(TEXT) if TEXT[one[0] : one[1]] == ">="]
    assert mutants.described(TEXT, mutant) == (
        "if (const int n = g(v); n >= 10 && !h(n)) {", "if (const int n = g(v); n > 10 && !h(n)) {")


def test_each_source_has_tests():
    for place in ("src/format", "src/age", "src/vault", "src/stream/resume/journal.cpp"):
        sources = list(mutants.sources_below([place]))
        assert sources
        assert all(mutants.tests_of(source) for source in sources)
    assert mutants.tests_of(mutants.ROOT / "src/age/plugin.cpp")[1] == ("paes", "tests/program/test_plugins.py")
