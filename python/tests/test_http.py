"""Flows that are executed, choices that a model makes, and HTTP calls, against a local server."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import pytest

from rulec import Router, Rules, RulecError, UnknownName
from rulec.agents import Coordinator, DecisionMade
from rulec.choices import AskedChoice, ChoiceCall
from rulec.flows import ChatModel, FlowChat, HttpClient, HttpError, ModelRequest, http_handler
from rulec.workflows import Workflow

T = TypeVar("T")
CHOICE = """
choice mood ask "how does the customer feel?" { branch angry "furious or impatient"  default branch calm }
choice size { default branch small  branch big all { steps.count.n as number > 9 } }
"""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 60))


class Server:
    """A server that keeps its requests. A model answers the id ``picks``."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None, Any]] = []
        self.picks: str | None = None
        # The number of requests until the methods PUT and PATCH succeed.
        self.busy = 1
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply(200, {"path": self.path, "x": self.headers.get("X-A")})

            def do_DELETE(self) -> None:
                self.reply(200, {"deleted": self.path})

            def do_PUT(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                served.requests.append((self.path, self.command, body))
                busy = len(served.requests) < served.busy
                self.reply(502 if busy else 200, {"method": self.command})

            do_PATCH = do_PUT

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                served.requests.append((self.path, self.headers.get("Authorization"), body))
                if self.path == "/broken":
                    self.reply(400, {"error": "no such flow"})
                elif self.path == "/v1/chat/completions":
                    self.reply(200, {"choices": [{"message": served.message(body), "finish_reason": "stop"}]})
                else:
                    self.reply(200, {"ok": body})

            def reply(self, status: int, body: Any) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self.server.server_port}"

    def message(self, body: Any) -> Any:
        if "tools" not in body or self.picks is None:
            return {"role": "assistant", "content": "how can I help?"}
        function = body["tools"][0]["function"]
        [parameter] = [name for name in function["parameters"]["properties"] if name != "reason"]
        arguments = json.dumps({parameter: self.picks})
        return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": function["name"], "arguments": arguments}}]}


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    yield served
    served.server.shutdown()
    served.server.server_close()


def rules(server: Server, path: str = "/trigger") -> Rules:
    return Rules.from_text(f"""
    flow tool flow_executor {{
      endpoint: {{ url: "http://{server.host}{path}", method: "POST", body: {{ flow: "{{flow_id}}", conversation: "#conversation#" }} }}
    }}
    flow greeting keyword exact ["hello"] -> "greet"
    flow refund "gives the customer the money back" intent -> "refund"
    """)


def test_a_flow_is_executed(server: Server) -> None:
    async def main() -> None:
        flows = rules(server).flows(client=HttpClient(allow=[server.host]))
        assert flows.endpoint is not None and flows.endpoint["method"] == "POST"
        hit = flows.find("Hello")
        assert hit is not None
        response = await flows.execute(hit, {"conversation": 7})
        assert response.status == 200 and response.attempts == 1 and response.elapsed > 0
        assert response.body == {"ok": {"flow": "greet", "conversation": 7}}
        with pytest.raises(HttpError, match="conversation"):
            await flows.execute("greet")
        with pytest.raises(HttpError, match="no such flow"):
            broken = rules(server, "/broken").flows(client=HttpClient(allow=[server.host]))
            await broken.execute("greet", {"conversation": 7})

    run(main())
    with pytest.raises(HttpError, match="client"):
        rules(server).flows().execute("greet")
    with pytest.raises(HttpError, match="not allowed|may not"):
        rules(server).flows(client=HttpClient(allow=["example.com"]))
    assert Rules.from_text('flow a keyword exact ["a"] -> "a"').flows().endpoint is None


def test_one_query_finds_and_executes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEC_MODEL_KEY", "secret")
    client = HttpClient(allow=[server.host])
    context = {"conversation": 7}

    async def main() -> None:
        chat = FlowChat(rules(server), client=client, model=ChatModel(f"http://{server.host}/v1", "small"))
        outcome = await chat.query("hello", context)
        assert (outcome.kind, outcome.flow, outcome.found_by, outcome.pattern) == ("executed", "greet", "keyword", "hello")
        assert outcome.response is not None and outcome.response.body["ok"]["flow"] == "greet"
        server.picks = "refund"
        outcome = await chat.query("zzz", context, history=[("user", "hi"), ("assistant", "yes?")])
        assert (outcome.kind, outcome.flow, outcome.found_by) == ("executed", "refund", "model")
        _, key, body = server.requests[-2]
        assert key == "Bearer secret" and [message["content"] for message in body["messages"]][1:] == ["hi", "yes?", "zzz"]
        server.picks = "greet"  # A keyword flow is not for the model to choose.
        outcome = await chat.query("zzz", context)
        assert (outcome.kind, outcome.flow) == ("refused", None) and "greet" in (outcome.error or "")
        server.picks = None
        outcome = await chat.query("zzz", context)
        assert (outcome.kind, outcome.reply, outcome.error) == ("no_flow", "how can I help?", None)
        with pytest.raises(RulecError, match="no role"):
            await chat.query("zzz", context, history=[("robot", "hi")])

    run(main())


@pytest.mark.parametrize("answer", ["refund", {"flow_id": "refund"}, '{"flow_id": "refund"}'])
def test_any_function_takes_the_place_of_the_model(server: Server, answer: Any) -> None:
    asked: list[ModelRequest] = []

    async def model(request: ModelRequest) -> Any:
        asked.append(request)
        return answer if request.text == "zzz" else "I do not know"

    async def main() -> None:
        chat = FlowChat(rules(server), client=HttpClient(allow=[server.host]), model=model)
        assert (await chat.query("hello", {"conversation": 7})).flow == "greet" and asked == []
        outcome = await chat.query("zzz", {"conversation": 7})
        assert (outcome.kind, outcome.flow, outcome.found_by) == ("executed", "refund", "model")
        assert asked[0].ids == ["refund"] and asked[0].tool["function"]["name"] == "flow_executor"
        assert [message["role"] for message in asked[0].messages] == ["system", "user"]
        assert (await chat.query("yyy", {"conversation": 7})).kind == "no_flow"

    run(main())


def test_a_model_makes_a_choice(server: Server) -> None:
    rules = Rules.from_text(CHOICE)

    async def down(request: ModelRequest) -> str:
        raise ConnectionError("no line")

    async def main() -> None:
        choice = AskedChoice(rules, "mood", ChatModel(f"http://{server.host}/v1", "small", key="k"))
        server.picks = "angry"
        answer = await choice.decide({"text": "Where is it?", "order": 7})
        assert (answer.branch, answer.failure) == ("angry", None)
        assert any('"order":7' in message["content"] for message in server.requests[0][2]["messages"])
        server.picks = "joyful"
        answer = await choice.decide({"text": "Where is it?"})
        assert answer.branch == "calm" and "joyful" in (answer.failure or "")
        assert (await AskedChoice(rules, "mood", lambda request: "angry").decide({"text": "x"})).branch == "angry"
        answer = await AskedChoice(rules, "mood", down).decide({"text": "x"})
        assert (answer.branch, answer.failure) == ("calm", "ConnectionError: no line")
        answer = await AskedChoice(rules, "mood", lambda request: {"branch": "joyful"}).decide({"text": "x"})
        assert answer.branch == "calm" and answer.failure is not None

    run(main())
    with pytest.raises(UnknownName):
        AskedChoice(rules, "mod", lambda request: "angry")


def test_a_choice_is_a_call_with_init_and_run() -> None:
    rules = Rules.from_text(CHOICE)

    async def outputs(call: ChoiceCall, variables: dict[str, Any]) -> list[str]:
        return [output.branch_id async for output in call.run(call.init(variables))]

    call = ChoiceCall(rules, "size")
    assert run(outputs(call, {"steps": {"count": {"n": 12}}})) == ["big"]
    missing = call.init({"steps": {"count": {}}})
    assert missing.skipped[0]["branch"] == "big" and call.output(missing).branch_id == "small"
    assert call.output(missing).reasons
    assert run(outputs(ChoiceCall(rules, "mood", model=lambda request: "angry"), {"text": "x"})) == ["angry"]
    with pytest.raises(UnknownName):
        ChoiceCall(rules, "sise")


def test_the_client_and_a_handler(server: Server) -> None:
    client = HttpClient(allow=[server.host], attempt=5, overall=10, retries=0)

    async def main() -> None:
        response = await client.get(f"http://{server.host}/a?b=1", headers={"X-A": "c"})
        assert response.body == {"path": "/a?b=1", "x": "c"}
        await client.post(f"http://{server.host}/p", {"n": 1}, key="k")
        assert server.requests == [("/p", "Bearer k", {"n": 1})]
        with pytest.raises(HttpError, match="example.com"):
            await client.get("http://example.com/")
        handler = http_handler(client, {"url": f"http://{server.host}/h", "method": "POST", "body": {"n": "{n}", "who": "#user#"}})
        router = Router(Rules.from_text("default -> call(n: n)"), {"call": handler})
        assert (await router.route({"n": 3, "ctx": {"user": "ann"}})).reply == {"ok": {"n": 3, "who": "ann"}}
        outcome = await router.route({"n": 3})
        assert outcome.kind == "failed" and isinstance(outcome.exception, HttpError)

    run(main())
    with pytest.raises(HttpError, match="no host"):
        HttpClient(allow=["https://example.com"])


def test_all_methods_of_http(server: Server) -> None:
    client = HttpClient(allow=[server.host], retries=3, pauses=(0.001, 0.002))
    url = f"http://{server.host}/a"

    async def main() -> None:
        assert (await client.delete(url)).body == {"deleted": "/a"}
        assert (await client.put(url, {"n": 1}, key="k")).body == {"method": "PUT"}
        assert (await client.patch(url, [2])).body == {"method": "PATCH"}
        assert server.requests == [("/a", "PUT", {"n": 1}), ("/a", "PATCH", [2])]
        assert json.loads((await client.get(url, as_text=True)).body)["path"] == "/a"
        # A server that fails may have processed a PATCH, so it is sent again only if the program allows it.
        server.requests.clear()
        server.busy = 3
        with pytest.raises(HttpError, match="502"):
            await client.patch(url, {})
        assert len(server.requests) == 1
        response = await client.patch(url, {}, repeatable=True)
        assert (response.attempts, len(server.requests)) == (2, 3)

    run(main())
    with pytest.raises(RulecError):
        HttpClient(allow=[server.host], pauses=(-1, 1))


def test_nodes_call_services(server: Server) -> None:
    client = HttpClient(allow=[server.host])
    create = Rules.from_text("payload create_node rank 1 { node_type: string; node_name: string; config: dict }")

    async def main() -> None:
        model = ChatModel(f"http://{server.host}/v1", "small", key="k")
        session = Coordinator(create, workers={"HTTP": client.node(), "LLM": model.node()}).session()
        for kind, config in (("HTTP", {"url": f"http://{server.host}/a"}), ("LLM", {"prompt": "hi"})):
            payload = {"node_type": kind, "node_name": "n", "config": config}
            turn = await session.offer(DecisionMade("create_node", payload))
            assert turn.done[0].error is None, turn.done[0].error
        assert turn.done[0].result["outputs"]["n"]["text"] == "how can I help?"
        endpoint = {"url": f"http://{server.host}/e", "method": "POST", "body": {"n": "{n}"}}
        nodes = [{"id": "a", "type": "call", "config": endpoint}]
        report = await Workflow("a", nodes, workers={"call": client.endpoint_node()}).run({"n": 3})
        assert report["outputs"]["a"] == {"ok": {"n": 3}}
        council = {"members": {"x": "YES", "y": endpoint}}
        report = await Workflow("a", [{"id": "a", "type": "ask", "config": council}], workers={"ask": client.council_node()}).run({"n": 3})
        assert report["outputs"]["a"] == {"x": "YES", "y": {"ok": {"n": 3}}}

    run(main())
