"""Long on purpose: one list of every method of the official Python client and of its RemoteGraph, each called once.

usage: call_all.py URL HEADERS {async|sync}      HEADERS is a JSON object

Prints one JSON object: `called`, a list of {client, requests: [{method, path}], failure}, and `uncalled`, the methods
that nobody calls. The graphs are those of tests/graphs.
"""

import asyncio
import inspect
import json
import sys
import time
from contextlib import asynccontextmanager

from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client, get_sync_client

QUESTION = {"messages": [{"role": "user", "content": "hi"}]}


async def done(value):
    """The result of a call of either client."""
    return await value if inspect.isawaitable(value) else value


async def items(stream):
    """The items of a stream of either client."""
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item


@asynccontextmanager
async def opened(stream):
    """The stream of a thread of either client."""
    if hasattr(stream, "__aenter__"):
        async with stream as it:
            yield it
    else:
        with stream as it:
            yield it


async def all_of(stream):
    return [item async for item in items(stream)]


class World:
    """What the calls share: what one made, the next one uses."""

    def __init__(self, client, aid, is_async):
        self.client = client
        self.aid = aid  # Another client, for what a call needs before and looks at afterwards.
        self.is_async = is_async
        self.remote = RemoteGraph("chat", client=client) if is_async else RemoteGraph("chat", sync_client=client)

    def of(self, remote, name):
        """The method of a RemoteGraph: `ainvoke` for the asynchronous client, `invoke` for the other."""
        return getattr(remote, f"a{name}" if self.is_async else name)

    async def new_thread(self):
        return (await done(self.aid.threads.create()))["thread_id"]


CALLS = {}


def call(name):
    def register(function):
        CALLS[name] = function
        return function

    return register


@call("assistants.create")
async def _(w):
    w.assistant = await done(w.client.assistants.create("chat", name="Support", metadata={"crew": "py"}))
    assert w.assistant["version"] == 1


@call("assistants.get")
async def _(w):
    assert (await done(w.client.assistants.get(w.assistant["assistant_id"])))["name"] == "Support"


@call("assistants.get_graph")
async def _(w):
    graph = await done(w.client.assistants.get_graph("chat", xray=True))
    assert any(node["id"] == "model" for node in graph["nodes"])


@call("assistants.get_schemas")
async def _(w):
    assert (await done(w.client.assistants.get_schemas("chat")))["graph_id"] == "chat"


@call("assistants.get_subgraphs")
async def _(w):
    assert list(await done(w.client.assistants.get_subgraphs("nested", recurse=True))) == ["sub"]


@call("assistants.update")
async def _(w):
    changed = await done(w.client.assistants.update(w.assistant["assistant_id"], name="Sales"))
    assert changed["version"] == 2


@call("assistants.get_versions")
async def _(w):
    versions = await done(w.client.assistants.get_versions(w.assistant["assistant_id"]))
    assert [version["version"] for version in versions] == [2, 1]


@call("assistants.set_latest")
async def _(w):
    assert (await done(w.client.assistants.set_latest(w.assistant["assistant_id"], 1)))["name"] == "Support"


@call("assistants.search")
async def _(w):
    found = await done(w.client.assistants.search(metadata={"crew": "py"}, response_format="object"))
    assert [each["assistant_id"] for each in found["assistants"]] == [w.assistant["assistant_id"]]


@call("assistants.count")
async def _(w):
    assert await done(w.client.assistants.count(metadata={"crew": "py"})) == 1


@call("assistants.delete")
async def _(w):
    await done(w.client.assistants.delete(w.assistant["assistant_id"], delete_threads=True))
    assert await done(w.aid.assistants.count(metadata={"crew": "py"})) == 0


@call("threads.create")
async def _(w):
    w.thread = (await done(w.client.threads.create(graph_id="chat", metadata={"subject": "py"}, ttl=60)))["thread_id"]


@call("runs.stream")
async def _(w):
    parts = await all_of(w.client.runs.stream(w.thread, "chat", input=QUESTION, stream_mode=["messages-tuple", "values"]))
    assert parts[0].event == "metadata" and {"messages", "values"} <= {part.event for part in parts}
    w.run = parts[0].data["run_id"]


@call("runs.create")
async def _(w):
    assert (await done(w.client.runs.create(w.thread, "chat", input=QUESTION)))["status"] == "pending"


@call("runs.create_batch")
async def _(w):
    made = await done(w.client.runs.create_batch([{"assistant_id": "chat", "input": QUESTION}] * 2))
    assert len(made) == 2


@call("runs.wait")
async def _(w):
    assert len((await done(w.client.runs.wait(w.thread, "chat", input=QUESTION)))["messages"]) >= 4


@call("runs.list")
async def _(w):
    assert w.run in [run["run_id"] for run in await done(w.client.runs.list(w.thread, status="success"))]


@call("runs.get")
async def _(w):
    assert (await done(w.client.runs.get(w.thread, w.run)))["status"] == "success"


@call("runs.join")
async def _(w):
    assert "messages" in await done(w.client.runs.join(w.thread, w.run))


@call("runs.join_stream")
async def _(w):
    thread = await w.new_thread()
    run = await done(w.aid.runs.create(thread, "slow", input={"n": 3}, stream_resumable=True))
    parts = await all_of(w.client.runs.join_stream(thread, run["run_id"], last_event_id="-1"))
    assert parts[0].event == "metadata" and parts[-1].event == "end"


@call("runs.cancel")
async def _(w):
    thread = await w.new_thread()
    run = await done(w.aid.runs.create(thread, "slow", input={"n": 0}))
    await done(w.client.runs.cancel(thread, run["run_id"], wait=True))
    assert (await done(w.aid.runs.get(thread, run["run_id"])))["status"] == "interrupted"


@call("runs.cancel_many")
async def _(w):
    thread = await w.new_thread()
    run = await done(w.aid.runs.create(thread, "slow", input={"n": 0}))
    await done(w.client.runs.cancel_many(thread_id=thread, run_ids=[run["run_id"]]))
    deadline = time.monotonic() + 60
    while (await done(w.aid.runs.get(thread, run["run_id"])))["status"] != "interrupted":
        assert time.monotonic() < deadline, "the run is not cancelled"
        await asyncio.sleep(0.05)


@call("runs.delete")
async def _(w):
    await done(w.client.runs.delete(w.thread, w.run))
    assert w.run not in [run["run_id"] for run in await done(w.aid.runs.list(w.thread))]


@call("threads.get")
async def _(w):
    assert (await done(w.client.threads.get(w.thread, include=["ttl"])))["ttl"]["strategy"] == "delete"


@call("threads.update")
async def _(w):
    changed = await done(w.client.threads.update(w.thread, metadata={"seen": True}))
    assert changed["metadata"]["subject"] == "py" and changed["metadata"]["seen"] is True


@call("threads.search")
async def _(w):
    found = await done(w.client.threads.search(metadata={"subject": "py"}, extract={"first": "values.messages[0].content"}))
    assert [thread["extracted"]["first"] for thread in found] == ["hi"]


@call("threads.count")
async def _(w):
    assert await done(w.client.threads.count(metadata={"subject": "py"})) == 1


@call("threads.get_state")
async def _(w):
    state = await done(w.client.threads.get_state(w.thread))
    again = await done(w.client.threads.get_state(w.thread, checkpoint=state["checkpoint"], subgraphs=True))
    assert again["checkpoint"]["checkpoint_id"] == state["checkpoint"]["checkpoint_id"]


@call("threads.update_state")
async def _(w):
    before = await done(w.aid.threads.get_state(w.thread))
    values = {"messages": [{"role": "user", "content": "one more"}]}
    await done(w.client.threads.update_state(w.thread, values, as_node="model"))
    after = await done(w.aid.threads.get_state(w.thread))
    assert len(after["values"]["messages"]) == len(before["values"]["messages"]) + 1


@call("threads.get_history")
async def _(w):
    assert len(await done(w.client.threads.get_history(w.thread, limit=5))) == 5


@call("threads.join_stream")
async def _(w):
    thread = await w.new_thread()
    await done(w.aid.runs.create(thread, "chat", input=QUESTION, stream_resumable=True))
    async for part in items(w.client.threads.join_stream(thread, last_event_id="-")):
        if part.event == "values":
            return
    raise AssertionError("the stream ended without values")


@call("threads.stream")
async def _(w):
    # The client's own headers do not go along with the handshake of a WebSocket.
    headers = json.loads(sys.argv[2])
    for transport in ["sse", "websocket"]:
        options = {"transport": transport, "headers": headers}
        async with opened(w.client.threads.stream(await w.new_thread(), assistant_id="chat", **options)) as thread:
            await done(thread.run.start(input=QUESTION))
            output = await done(thread.output)
        assert len(output["messages"]) == 2, output
        async with opened(w.client.threads.stream(await w.new_thread(), assistant_id="hitl", **options)) as thread:
            await done(thread.run.start(input={"x": 1}))
            # Set when the question arrives, which is before the run is over.
            while not thread.interrupted:
                await asyncio.sleep(0.001)
            await done(thread.run.respond("yes"))
            output = await done(thread.output)
        assert output == {"x": 4, "y": "yes"}, output


@call("threads.copy")
async def _(w):
    await done(w.client.threads.copy(w.thread))
    assert await done(w.aid.threads.count(metadata={"subject": "py"})) == 2


@call("threads.prune")
async def _(w):
    await done(w.client.threads.prune([w.thread], strategy="keep_latest"))
    assert len(await done(w.aid.threads.get_history(w.thread))) == 1


@call("threads.delete")
async def _(w):
    await done(w.client.threads.delete(w.thread))
    assert await done(w.aid.threads.search(ids=[w.thread])) == []


@call("crons.create")
async def _(w):
    made = await done(w.client.crons.create("chat", schedule="0 5 * * *", input=QUESTION, metadata={"by": "py"}))
    w.cron = made["cron_id"]


@call("crons.create_for_thread")
async def _(w):
    thread = await w.new_thread()
    made = await done(w.client.crons.create_for_thread(thread, "chat", schedule="0 5 * * *", metadata={"by": "py"}))
    assert made["thread_id"] == thread


@call("crons.update")
async def _(w):
    assert (await done(w.client.crons.update(w.cron, schedule="0 6 * * *")))["schedule"] == "0 6 * * *"


@call("crons.search")
async def _(w):
    assert w.cron in [cron["cron_id"] for cron in await done(w.client.crons.search(metadata={"by": "py"}))]


@call("crons.count")
async def _(w):
    assert await done(w.client.crons.count(metadata={"by": "py"})) == 2


@call("crons.delete")
async def _(w):
    for cron in await done(w.aid.crons.search(metadata={"by": "py"})):
        await done(w.client.crons.delete(cron["cron_id"]))
    assert await done(w.aid.crons.count(metadata={"by": "py"})) == 0


@call("store.put_item")
async def _(w):
    await done(w.client.store.put_item(["notes", "py"], key="first", value={"text": "tea"}))


@call("store.get_item")
async def _(w):
    assert (await done(w.client.store.get_item(["notes", "py"], key="first")))["value"] == {"text": "tea"}


@call("store.search_items")
async def _(w):
    assert len((await done(w.client.store.search_items(["notes", "py"], filter={"text": "tea"})))["items"]) == 1


@call("store.list_namespaces")
async def _(w):
    listed = await done(w.client.store.list_namespaces(prefix=["notes", "py"]))
    assert (listed["namespaces"] if isinstance(listed, dict) else listed) == [["notes", "py"]]


@call("store.delete_item")
async def _(w):
    await done(w.client.store.delete_item(["notes", "py"], key="first"))
    assert (await done(w.aid.store.search_items(["notes", "py"])))["items"] == []


@call("RemoteGraph.invoke")
async def _(w):
    w.config = {"configurable": {"thread_id": await w.new_thread()}}
    assert len((await done(w.of(w.remote, "invoke")(QUESTION, w.config)))["messages"]) >= 2


@call("RemoteGraph.stream")
async def _(w):
    parts = await all_of(w.of(w.remote, "stream")(QUESTION, stream_mode="values"))
    assert len(parts[-1]["messages"]) >= 2


@call("RemoteGraph.get_state")
async def _(w):
    assert len((await done(w.of(w.remote, "get_state")(w.config))).values["messages"]) >= 2


@call("RemoteGraph.update_state")
async def _(w):
    values = {"messages": [{"role": "user", "content": "more"}]}
    await done(w.of(w.remote, "update_state")(w.config, values, as_node="model"))


@call("RemoteGraph.get_state_history")
async def _(w):
    assert len(await all_of(w.of(w.remote, "get_state_history")(w.config))) >= 3


@call("RemoteGraph.get_graph")
async def _(w):
    assert "model" in (await done(w.of(w.remote, "get_graph")(xray=True))).nodes


def methods(client):
    return [
        f"{part}.{name}"
        for part, value in vars(client).items()
        if part != "http"
        for name, _ in inspect.getmembers(type(value), inspect.isfunction)
        if not name.startswith("_")
    ]


async def main(url, headers, kind):
    is_async = kind == "async"
    client, aid = ((get_client if is_async else get_sync_client)(url=url, headers=headers) for _ in range(2))
    requests = []

    def note(request):
        requests.append({"method": request.method, "path": request.url.path})

    async def note_async(request):
        note(request)

    client.http.client.event_hooks["request"].append(note_async if is_async else note)
    world = World(client, aid, is_async)
    called = []
    for name, function in CALLS.items():
        requests.clear()
        outcome = {}
        try:
            await function(world)
        except Exception as error:
            outcome["failure"] = f"{type(error).__name__}: {error}"
        called.append({"client": name, "requests": list(requests), **outcome})
    uncalled = [name for name in methods(client) if name not in CALLS]
    print(json.dumps({"called": called, "uncalled": uncalled}))


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
