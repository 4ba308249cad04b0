"""Lets schemathesis ask the service by its OpenAPI document: no answer may have a status of 500 or more, and each must be documented.

The variable SCHEMATHESIS_SECONDS has the time that it may take [default: 120].
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from service import service

RULES = (Path(__file__).parents[1] / "tests/service/support.rules").read_text()
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
TOKEN = "only-for-tests"
# Values that exist, so that the requests reach more than the check of their path.
CONFIGURATION = """
[parameters]
"path.rules" = "support"
"path.kind" = "order"
"path.name" = "twice"
"""

with tempfile.TemporaryDirectory() as folder:
    tokens = Path(folder) / "tokens"
    tokens.write_text(f"test decide,explain,admin {hashlib.sha256(TOKEN.encode()).hexdigest()}\n")
    (Path(folder) / "schemathesis.toml").write_text(CONFIGURATION)
    with service(RULES, "--tokens", str(tokens)) as url:
        seconds = os.environ.get("SCHEMATHESIS_SECONDS", "120")
        program = Path(sys.executable).parent / "schemathesis"
        options = ["--checks", CHECKS, "--max-time", seconds, "--continue-on-failure", "--no-color"]
        header = f"Authorization: Bearer {TOKEN}"
        command = [program, "run", f"{url}/openapi.json", "--header", header, *options]
        sys.exit(subprocess.run(command, cwd=folder, check=False).returncode)
