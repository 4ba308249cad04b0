"""Asks the service through real clients of the protocols that it speaks.

Envoy itself has no package in a registry, so grpcio sends what Envoy sends.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import grpc
from decern import Client as AuthZen
from envoy.config.core.v3 import base_pb2 as _base  # noqa: F401
from envoy.service.auth.v3 import attribute_context_pb2, external_auth_pb2, external_auth_pb2_grpc
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from opa_client.opa import OpaClient
from rulec.v1 import rulec_pb2, rulec_pb2_grpc
from service import check, service

RULES = """
route owner when resource.properties.owner == subject.id -> allow
route public when method == "GET" and path starts_with "/public/" -> allow
route refund when text contains "refund" -> billing(text: text)
default -> deny
test "a refund" { given text = "refund" expect refund }
"""


def ask_opa(url):
    port = int(url.rsplit(":", 1)[1])
    with OpaClient(host="127.0.0.1", port=port) as client:
        answer = client.query_rule({"text": "a refund"}, package_path="support.routes")
        check("opa-python-client: a decision", answer["result"]["target"], "billing")
        answer = client.query_rule({"text": "a refund"}, package_path="support.routes.args", rule_name="text")
        check("opa-python-client: a part of it", answer, {"result": "a refund"})
        answer = client.query_rule({}, package_path="support.none")
        check("opa-python-client: nothing has this path", answer, {})
    script = Path(os.environ["CLIENT_FILES"]) / "opa.mjs"
    script.write_text(
        """
import { OPAClient } from "@open-policy-agent/opa";
const client = new OPAClient(process.argv[2]);
const decision = await client.evaluate("support/routes", { text: "a refund" });
const target = await client.evaluate("support/routes/target", { text: "hello" });
console.log(JSON.stringify([decision.chosen, target]));
"""
    )
    ran = subprocess.run(["node", script, url], capture_output=True, text=True, check=False)
    check("@open-policy-agent/opa", ran.stdout.strip() or ran.stderr, '["refund","deny"]')


def ask_authzen(url):
    client = AuthZen(url)
    for subject, allowed in [("alice", True), ("bob", False)]:
        resource = {"type": "record", "id": "1", "properties": {"owner": "alice"}}
        decision = client.evaluate({"type": "user", "id": subject}, "write", resource)
        check(f"decern (AuthZEN): {subject}", decision.allowed, allowed)


def ask_grpc(url):
    with grpc.insecure_channel(url.removeprefix("http://")) as channel:
        rules = rulec_pb2_grpc.RulesStub(channel)
        answer = rules.Decide(rulec_pb2.DecideRequest(message=b'{"text": "a refund"}'))
        check("grpcio: Decide", json.loads(answer.decision)["chosen"], "refund")
        texts = ["hello", "refund"]
        requests = (
            rulec_pb2.DecideStreamRequest(
                request=rulec_pb2.DecideRequest(message=json.dumps({"text": text}).encode())
            )
            for text in texts
        )
        answers = [json.loads(answer.response.decision)["chosen"] for answer in rules.DecideStream(requests)]
        check("grpcio: DecideStream", answers, ["default", "refund"])
        try:
            rules.Decide(rulec_pb2.DecideRequest(message=b"[]"))
            sys.exit("a list is no message")
        except grpc.RpcError as error:
            check("grpcio: an error", error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        envoy = external_auth_pb2_grpc.AuthorizationStub(channel)
        for path, code in [("/public/a", 0), ("/private/a", 7)]:
            http = attribute_context_pb2.AttributeContext.HttpRequest(method="GET", path=path)
            request = attribute_context_pb2.AttributeContext.Request(http=http)
            attributes = attribute_context_pb2.AttributeContext(request=request)
            answer = envoy.Check(external_auth_pb2.CheckRequest(attributes=attributes))
            check(f"grpcio: Envoy's Check of {path}", answer.status.code, code)


async def ask_session(name, session):
    await session.initialize()
    tools = sorted(tool.name for tool in (await session.list_tools()).tools)
    check(f"{name}: tools", tools, ["check", "decide", "explain", "test"])
    answer = await session.call_tool("decide", {"message": {"text": "a refund"}})
    check(f"{name}: decide", json.loads(answer.content[0].text)["chosen"], "refund")
    answer = await session.call_tool("explain", {"message": {"text": "a refund"}})
    check(f"{name}: explain", "refund" in answer.content[0].text, True)
    answer = await session.call_tool("check", {"text": "route a when x -> "})
    check(f"{name}: check", json.loads(answer.content[0].text)["ok"], False)
    answer = await session.call_tool("test", {})
    check(f"{name}: test", json.loads(answer.content[0].text)["passed"], 1)


async def ask_mcp(url):
    async with streamable_http_client(f"{url}/mcp") as streams, ClientSession(*streams[:2]) as session:
        await ask_session("mcp over HTTP", session)
    rules = Path(os.environ["CLIENT_FILES"]) / "support.rules"
    rules.write_text(RULES)
    program = StdioServerParameters(command=os.environ["RULEC"], args=["serve", str(rules), "--mcp"])
    async with stdio_client(program) as streams, ClientSession(*streams[:2]) as session:
        await ask_session("mcp over standard input", session)


with service(RULES) as url:
    ask_opa(url)
    ask_authzen(url)
    ask_grpc(url)
    asyncio.run(ask_mcp(url))
