"""Signed artifacts; with trusted keys, only signed artifacts are loaded. Watched artifacts are reloaded."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from rulec import CompileError, LiveRules, Router, RulecError, Rules, WatchedRules


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
    with pytest.raises(RulecError, match="`trusted` has no key"):
        Rules.from_artifact(signed, trusted=[])
    assert LiveRules.from_artifact(signed, trusted=[public], tier="vm").decide({}).target == "h"


def replace(path: Path, content: bytes) -> None:
    """Replaces a file as deployments do: a reader sees the old file or the new one."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def artifact(handler: str, key: str | None = None) -> bytes:
    return Rules.from_text(f"default -> {handler}").to_artifact(sign=key)


async def reload(watched: WatchedRules, path: Path, content: bytes) -> str:
    """Replaces the watched file, and returns the handler that the rules choose then."""
    known = watched.status
    replace(path, content)
    await watched.changed(since=known)
    return str(watched.decide({}).target)


def test_a_newer_artifact_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "desk.rulec"
    path.write_bytes(artifact("first"))
    watched = WatchedRules(path)

    async def main() -> None:
        assert watched.decide({}).target == "first"
        assert await reload(watched, path, artifact("second")) == "second"
        assert await reload(watched, path, artifact("third")[:-1]) == "second"
        assert (watched.status.loaded, watched.status.refused) == (2, 1) and watched.status.error
        # Without trusted keys, a text may take the place of an artifact.
        assert await reload(watched, path, b"default -> fourth") == "fourth"
        assert watched.status.error is None

    asyncio.run(asyncio.wait_for(main(), 60))


def test_with_trusted_keys_only_a_signed_artifact_is_loaded(tmp_path: Path, keys: tuple[str, str]) -> None:
    private, public = keys
    path = tmp_path / "desk.rulec"
    path.write_bytes(artifact("first", private))
    watched = WatchedRules(path, trusted=[public])

    async def main() -> None:
        assert watched.decide({}).target == "first"
        assert await reload(watched, path, artifact("second", private)) == "second"
        for unsigned in (artifact("third"), b"default -> third"):
            assert await reload(watched, path, unsigned) == "second"
            assert "sign" in str(watched.status.error)
        assert await reload(watched, path, artifact("fourth", private)) == "fourth"

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_router_with_trusted_keys_takes_only_signed_artifacts(tmp_path: Path, keys: tuple[str, str]) -> None:
    private, public = keys
    path, document = tmp_path / "desk.rulec", tmp_path / "desk.json"
    path.write_bytes(artifact("first", private))
    document.write_text(json.dumps({"routes": []}))

    async def main() -> None:
        router = Router(Rules.from_text("default -> start"), {}, otherwise=lambda request: request.handler)
        for unsigned in (document, tmp_path / "desk.rules"):
            (tmp_path / "desk.rules").write_text("default -> a")
            with pytest.raises(RulecError, match="sign"):
                await router.watch(unsigned, trusted=[public])
        watch = await router.watch(path, trusted=[public])
        assert (await router.route({})).handler == "first"
        for content, handler in [(artifact("second", private), "second"), (artifact("third"), "second")]:
            known = watch.status
            replace(path, content)
            await watch.changed(since=known)
            assert (await router.route({})).handler == handler
        await router.close()

    asyncio.run(asyncio.wait_for(main(), 60))
