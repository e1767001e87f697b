"""The floor for graphs in Python: the same graphs behind a bare ASGI server (uvicorn), in one process, with LangGraph's
InMemorySaver. It has no queue, no database, no worker and no persistence. Started as `python floor.py <socket path>`."""

import copy
import json
import re
import sys
import uuid
from importlib import import_module
from pathlib import Path
from typing import Any

import uvicorn
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

folder = Path(__file__).parent
sys.path.insert(0, str(folder))
places = json.loads((folder / "langgraph.json").read_text())["graphs"]
graphs = {name: import_module(place.split(":")[0][2:-3]).graph for name, place in places.items()}
# The graph that wrote a thread's state, which is needed to read it.
graph_of_thread: dict[str, Any] = {}


def with_own_saver(graph: Any) -> Any:
    """A graph with its own saver, so that the state of a stateless run is collected with the graph."""
    own = copy.copy(graph)
    own.checkpointer = InMemorySaver()
    return own


def wire_form(value: Any) -> Any:
    """Messages as their fields and a `type`."""
    if isinstance(value, BaseMessage):
        return {"type": value.type, "id": value.id, "content": value.content}
    raise TypeError(f"{type(value)} has no form in JSON")


def json_of(value: Any) -> bytes:
    return json.dumps(value, default=wire_form).encode()


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    path = scope["path"]
    if path == "/ok":
        return await reply(send, {"ok": True})
    if path == "/threads":
        return await reply(send, {"thread_id": str(uuid.uuid4())})
    found = re.fullmatch(r"(?:/threads/([^/]+))?/runs/(stream|wait)", path)
    if found:
        body = json.loads(await read(receive))
        thread_id = found[1] or str(uuid.uuid4())
        graph = graph_of_thread.get(thread_id) or with_own_saver(graphs[body["assistant_id"]])
        if found[1]:
            graph_of_thread[thread_id] = graph
        config = {"configurable": {"thread_id": thread_id}}
        if found[2] == "wait":
            return await reply(send, await graph.ainvoke(body["input"], config))
        return await stream(send, graph, body, config)
    found = re.fullmatch(r"/threads/([^/]+)/state", path)
    if found:
        state = await graph_of_thread[found[1]].aget_state({"configurable": {"thread_id": found[1]}})
        return await reply(send, {"values": state.values})
    await reply(send, None, 404)


async def stream(send: Any, graph: Any, body: Any, config: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    mode = body.get("stream_mode", "values")

    async def tell(name: str, data: Any) -> None:
        event = b"event: %s\ndata: %s\n\n" % (name.encode(), json_of(data))
        await send({"type": "http.response.body", "body": event, "more_body": True})

    run_id = str(uuid.uuid4())
    await tell("metadata", {"run_id": run_id, "attempt": 1})
    modes = ["messages" if mode == "messages-tuple" else mode]
    async for name, chunk in graph.astream(body["input"], config, stream_mode=modes):
        await tell(name, chunk)
    await tell("end", {"run_id": run_id, "status": "success"})
    await send({"type": "http.response.body", "body": b""})


async def read(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def reply(send: Any, value: Any, status: int = 200) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json_of(value)})


if __name__ == "__main__":
    uvicorn.run(app, uds=sys.argv[1], log_level="warning", access_log=False, lifespan="off")
