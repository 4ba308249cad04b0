"""Runs the clients that docs/serve.md shows. Go and Java need a frame around the lines shown."""

import os
import re
import subprocess
from pathlib import Path

from service import check, service

RULES = 'route refund when text contains "refund" -> billing\ndefault -> chat\n'
DOCUMENTED_ADDRESS = "http://127.0.0.1:8181"

GO_FRAME = """package main
import ("encoding/json"; "fmt"; "log"; "net/http"; "strings")
func main() {
%s
}
"""
JAVA_FRAME = """import java.net.URI;
import java.net.http.*;
public class Client {
  public static void main(String[] arguments) throws Exception {
%s
  }
}
"""

# For each language: the name of the file, the frame, and the command that runs the file.
LANGUAGES = {
    "python": ("client.py", "%s", ["python3"]),
    "js": ("client.mjs", "%s", ["node"]),
    "go": ("client.go", GO_FRAME, ["go", "run"]),
    "java": ("Client.java", JAVA_FRAME, ["java"]),
    "sh": ("client.sh", "%s", ["sh"]),
}

text = (Path(__file__).parents[3] / "docs" / "serve.md").read_text()
section = text.split("### Clients\n")[1].split("\n### ")[0]
shown = dict(re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL))
check("languages of docs/serve.md", sorted(shown), sorted(LANGUAGES))
with service(RULES) as url:
    for language, (name, frame, command) in LANGUAGES.items():
        lines = shown[language]
        check(f"{language}: about ten lines", lines.count("\n") <= 12, True)
        check(f"{language}: the address", DOCUMENTED_ADDRESS in lines, True)
        path = Path(os.environ["CLIENT_FILES"]) / name
        path.write_text(frame % lines.replace(DOCUMENTED_ADDRESS, url))
        ran = subprocess.run([*command, path], capture_output=True, text=True, check=False)
        check(f"{language}: the handler", ran.stdout.strip() or ran.stderr, "billing")
