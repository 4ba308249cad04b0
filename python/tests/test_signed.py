"""Signed artifacts; with trusted keys, only signed artifacts are loaded."""

from __future__ import annotations

import subprocess

import pytest

from rulec import CompileError, RulecError, Rules


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    private = tmp_path_factory.mktemp("keys") / "private.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    public = subprocess.run(["openssl", "pkey", "-in", private, "-pubout"], check=True, capture_output=True, text=True)
    return private.read_text(), public.stdout


def test_signatures(keys: tuple[str, str]) -> None:
    private, public = keys
    rules = Rules.from_text("default -> h")
    signed = rules.to_artifact(sign=private)
    assert Rules.from_artifact(signed, trusted=[public]).decide({}).target == "h"
    with pytest.raises(CompileError, match="sign"):
        Rules.from_artifact(rules.to_artifact(), trusted=[public])
    with pytest.raises(RulecError):
        Rules.from_artifact(signed, trusted=["no key"])
