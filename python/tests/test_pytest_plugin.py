"""The plugin of pytest, run in a pytest of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

RULES = """
route big when n > 3 -> many(n: n)
default -> few
test "a big number" { given n = 4  expect big -> many(n: 4) }
test "a small number" { given n = 2
  expect big }
test "both" {
  given n
  expect big for 5
  expect default for 1
}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    folder = pytester.mkdir("rules")
    (folder / "desk.rules").write_text(RULES)
    pytester.makepyfile("def test_python(): pass")
    return pytester


def run(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    # The plugin is named here, because the entry point exists only in an installed package.
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:rulec", "-p", "rulec.pytest_plugin", *args)


def test_the_blocks_are_tests(project: pytest.Pytester) -> None:
    result = run(project, "--rulec", "-v")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        ["rules/desk.rules::a big number PASSED*", "rules/desk.rules::a small number FAILED*", "rules/desk.rules::both: 5 PASSED*"]
    )
    result.stdout.fnmatch_lines(["*desk.rules:5: expected big, got default", "why: default*", "*n > 3   n = 2"])
    assert "Traceback" not in result.stdout.str() and "subprocess" not in result.stdout.str()


def test_files_are_named_or_asked_for(project: pytest.Pytester) -> None:
    run(project).assert_outcomes(passed=1)
    run(project, "rules/desk.rules").assert_outcomes(passed=3, failed=1)
    run(project, "--rulec", "-k", "both").assert_outcomes(passed=2, deselected=3)
    project.makeini("[pytest]\nrulec = true\n")
    run(project).assert_outcomes(passed=4, failed=1)


def test_imports_stay_below_the_root(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\n")
    (project.path / "words.rules").write_text('list words = ["a"]\n')
    used = 'import "../words.rules"\nroute r when text contains any words -> h\ntest "t" { given text = "a"  expect r }\n'
    (project.path / "rules" / "desk.rules").write_text(used)
    run(project, "rules/desk.rules").assert_outcomes(passed=1)


def test_rules_that_do_not_compile_are_an_error(project: pytest.Pytester) -> None:
    (project.path / "rules" / "desk.rules").write_text("route a when n > 3 and -> h\n")
    result = run(project, "--rulec")
    result.assert_outcomes(passed=0, errors=1)
    result.stdout.fnmatch_lines(["*E0101*", "*expected a value after `and`*"])
