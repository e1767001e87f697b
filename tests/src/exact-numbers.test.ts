/**
 * Numbers reach a graph of either language as they were sent, and come back so, or are refused with their path (decision 0057).
 * Long on purpose: one server, and each of its doors.
 */
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { isExactNumber } from "@superstep/toolkit/http/exact-number"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { WebSocket } from "ws"
import { serverForAll } from "./testing/agent-servers.js"
import { testPython, withoutPython } from "./testing/languages.js"
import { projectWith } from "./testing/projects.js"

/** Both graphs return what they get; `ask` is asked of a person, and `item` read from the store. */
const files = {
  "package.json": JSON.stringify({ type: "module" }),
  "agent.js": `
import { Annotation, START, StateGraph, interrupt } from "@langchain/langgraph"

const echo = async ({ value, ask, item }, config) => ({
  echo: value,
  configured: config.configurable.value ?? null,
  context: config.context?.value ?? null,
  answer: ask === undefined ? null : interrupt({ ask }),
  read: item === undefined ? null : (await config.store.get(["numbers"], item)).value,
})
const fields = ["value", "ask", "item", "echo", "configured", "context", "answer", "read"]
export const graph = new StateGraph(Annotation.Root(Object.fromEntries(fields.map((name) => [name, Annotation()]))))
  .addNode("node", echo)
  .addEdge(START, "node")
  .compile()
`,
  "agent.py": `
from typing import Any, TypedDict
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from langgraph.runtime import get_runtime

class State(TypedDict, total=False):
    value: Any
    ask: Any
    item: Any
    echo: Any
    configured: Any
    context: Any
    answer: Any
    read: Any

async def echo(state: State, config):
    runtime = get_runtime()
    item = await runtime.store.aget(("numbers",), state["item"]) if "item" in state else None
    return {
        "echo": state.get("value"),
        "configured": config["configurable"].get("value"),
        "context": (runtime.context or {}).get("value"),
        "answer": interrupt({"ask": state["ask"]}) if "ask" in state else None,
        "read": item and item.value,
    }

graph = StateGraph(State, context_schema=dict).add_node("node", echo).add_edge(START, "node").compile()
`,
}

const graphs = { javascript: "./agent.js:graph", ...(withoutPython ? {} : { python: "./agent.py:graph" }) }

const folder = projectWith({ ...files, "langgraph.json": JSON.stringify({ dependencies: ["."], graphs }) })
const env = { SUPERSTEP_CONFIG: join(folder, "langgraph.json"), SUPERSTEP_PYTHON: testPython }
const server = serverForAll({ env, hasUnitToken: false })

interface Reply {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
  readonly json: any
}

async function ask(method: string, path: string, body?: string, headers: object = {}): Promise<Reply> {
  const init = { method, headers: { "content-type": "application/json", ...headers } }
  const response = await fetch(`${server.url}${path}`, body === undefined ? init : { ...init, body })
  const text = await response.text()
  return { status: response.status, text, json: /^\s*[[{]/.test(text) ? parseJson(text) : undefined }
}

const good = async (method: string, path: string, body?: string, headers?: object) => {
  const reply = await ask(method, path, body, headers)
  assert.ok(reply.status < 300, `${method} ${path} ${body}: ${reply.status} ${reply.text}`)
  return reply.json
}

/** A value in a form in which only equal values are equal: integers by their digits, floats as doubles. */
function canonical(value: unknown): unknown {
  if (isExactNumber(value)) {
    const isFloat = /[.eE]/.test(value.text)
    return isFloat
      ? `float ${Object.is(value.number, -0) ? "-0" : value.number}`
      : `int ${value.text === "-0" ? "0" : value.text}`
  }
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? `int ${toJsonText(value)}` : `float ${value}`
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== "object" || value === null) return value
  return Object.entries(value)
    .map(([key, each]) => [key, canonical(each)])
    .sort()
}

/** The same for a language whose only numbers are doubles. */
const asDoubles = (value: unknown): unknown => JSON.parse(toJsonText(value), (_, each) => (each === 0 ? 0 : each))

const formOf = { python: canonical, javascript: asDoubles }
type Name = keyof typeof formOf

function assertSame(name: Name, actual: unknown, sent: string, what: string) {
  assert.deepEqual(formOf[name](actual), formOf[name](parseJson(sent)), `${what} of ${sent}`)
}

// Without an integer of more than 64 bits: LangGraph cannot save one in a question or in a `Send`.
const odd = '[12345678901234567890,-9007199254740993,1.0,-0.0,1e20,2.50,1e-7,{"n":1.5e300}]'
const oddDoubles = '[1.0,-0.0,1e20,2.50,1e-7,{"n":1.5e300},100000000000000000000]'

const newThread = async (): Promise<string> => (await good("POST", "/threads", "{}")).thread_id
/** The result of a run with these fields of the body, on a new thread that goes with it or on a given one. */
const run = (name: string, fields: string, threadId?: string) =>
  good("POST", `${threadId ? `/threads/${threadId}` : ""}/runs/wait`, `{"assistant_id":"${name}",${fields}}`)
const firstQuestion = async (threadId: string) => {
  const { interrupts } = await good("GET", `/threads/${threadId}`)
  return (Object.values(interrupts) as { id: string; value: { ask: unknown } }[][])[0]?.[0]
}

/** Each sends a value, and returns it as it was seen in several places. */
const doors: Record<string, (name: Name, text: string) => Promise<Record<string, unknown>>> = {
  "the input of a run, its result, its stream, its kwargs and its thread": async (name, text) => {
    const threadId = await newThread()
    const thread = `/threads/${threadId}`
    const { value, echo } = await run(name, `"input":{"value":${text}}`, threadId)
    const body = `{"assistant_id":"${name}","input":{"value":${text}},"stream_mode":["values","updates"]}`
    const stream = await ask("POST", `${thread}/runs/stream`, body)
    const events = [...stream.text.matchAll(/^event: (\w+)\r?\ndata: (.*)$/gm)]
    const last = (wanted: string) => parseJson(events.findLast(([, event]) => event === wanted)?.[2] ?? "")
    const [{ kwargs }] = await good("GET", `${thread}/runs`)
    const [found] = await good("POST", "/threads/search", `{"ids":["${threadId}"],"extract":{"it":"values.echo"}}`)
    const [newest] = await good("GET", `${thread}/history`)
    const got = await good("POST", `${thread}/commands`, '{"id":1,"method":"state.get","params":{}}')
    return {
      value,
      echo,
      "values event": Object(last("values")).echo,
      "updates event": Object(last("updates")).node.echo,
      kwargs: kwargs.input.value,
      "thread's values": (await good("GET", thread)).values.echo,
      "extracted value": found.extracted.it,
      state: (await good("GET", `${thread}/state`)).values.echo,
      history: newest.values.echo,
      "state.get": got.result.values.echo,
    }
  },
  "config, context and metadata of a run": async (name, text) => {
    const threadId = await newThread()
    const rest = `"config":{"configurable":{"value":${text}}},"context":{"value":${text}},"metadata":{"value":${text}}`
    const { configured, context } = await run(name, `"input":{"value":1},${rest}`, threadId)
    const [{ metadata }] = await good("GET", `/threads/${threadId}/runs`)
    return { configured, context, metadata: metadata.value }
  },
  "config and context of an assistant": async (name, text) => {
    const values = `"config":{"configurable":{"value":${text}}},"metadata":{"value":${text}}`
    const made = await good("POST", "/assistants", `{"graph_id":"${name}",${values}}`)
    const patched = await good("PATCH", `/assistants/${made.assistant_id}`, `{"metadata":{"more":${text}}}`)
    const { configured } = await run(made.assistant_id, '"input":{"value":1}')
    return { config: made.config.configurable.value, metadata: patched.metadata.value, configured }
  },
  "an answer, and the question it answers": async (name, text) => {
    const threadId = await newThread()
    const { __interrupt__: asked } = await run(name, `"input":{"ask":${text}}`, threadId)
    const interrupt = await firstQuestion(threadId)
    const { answer } = await run(name, `"command":{"resume":${text}}`, threadId)
    return { question: asked[0].value.ask, interrupt: interrupt?.value.ask, answer }
  },
  "command.update and goto": async (name, text) => {
    const threadId = await newThread()
    await run(name, '"input":{"value":1}', threadId)
    const command = `{"update":{"read":${text}},"goto":{"node":"node","input":{"value":${text}}}}`
    return { goto: (await run(name, `"command":${command}`, threadId)).echo }
  },
  "an update of the state, and supersteps": async (name, text) => {
    const made = `"metadata":{"graph_id":"${name}"}`
    const update = `{"values":{"value":${text}},"as_node":"node"}`
    const one = `/threads/${(await good("POST", "/threads", `{${made}}`)).thread_id}`
    await good("POST", `${one}/state`, update)
    const other = await good("POST", "/threads", `{${made},"supersteps":[{"updates":[${update}]}]}`)
    return {
      state: (await good("GET", `${one}/state`)).values.value,
      thread: (await good("GET", one)).values.value,
      superstep: (await good("GET", `/threads/${other.thread_id}/state`)).values.value,
    }
  },
  "a batch": async (name, text) => {
    const order = `{"assistant_id":"${name}","input":{"value":${text}},"on_completion":"keep"}`
    const [{ kwargs, thread_id, run_id }] = await good("POST", "/runs/batch", `[${order}]`)
    return {
      kwargs: kwargs.input.value,
      result: (await good("GET", `/threads/${thread_id}/runs/${run_id}/join`)).echo,
    }
  },
  "a cron": async (name, text) => {
    const values = `"input":{"value":${text}},"metadata":{"value":${text}}`
    const cron = await good("POST", "/runs/crons", `{"assistant_id":"${name}","schedule":"0 0 1 1 *",${values}}`)
    const changed = await good("PATCH", `/runs/crons/${cron.cron_id}`, `{"metadata":{"more":${text}}}`)
    return { payload: cron.payload.input.value, metadata: changed.metadata.value, after: changed.payload.input.value }
  },
  "arguments of a tool (MCP)": async (name, text) => {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"value":${text}}}}`
    const reply = await good("POST", "/mcp", call, { accept: "application/json, text/event-stream" })
    return { result: Object(parseJson(reply.result.content[0].text)).echo }
  },
  "a data part (A2A), and its artifact": async (name, text) => {
    const system = `{"graph_id":"${name}","metadata":{"created_by":"system"}}`
    const [{ assistant_id }] = await good("POST", "/assistants/search", system)
    const message = `{"role":"user","messageId":"m","parts":[{"kind":"data","data":{"value":${text}}}]}`
    const call = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"message/send","params":{"message":${message}}}`
    const reply = await good("POST", `/a2a/${assistant_id}`, call, { accept: "application/json" })
    assert.equal(toJsonText(reply.id), "12345678901234567890")
    return { artifact: reply.result.artifacts[0].parts[0].data.echo }
  },
  "commands over HTTP": (name, text) => askByCommands(overHttp, name, text),
  "commands over a WebSocket": (name, text) => askByCommands(overSocket, name, text),
}

async function askByCommands(send: typeof overHttp, name: Name, text: string) {
  const threadId = await newThread()
  const start = `{"assistant_id":"${name}","input":{"ask":${text}}}`
  const started = await send(threadId, `{"id":1,"method":"run.start","params":${start}}`)
  await good("GET", `/threads/${threadId}/runs/${started.result.run_id}/join`)
  const params = `{"interrupt_id":"${(await firstQuestion(threadId))?.id}","response":${text}}`
  await send(threadId, `{"id":2,"method":"input.respond","params":${params}}`)
  const [{ run_id }] = await good("GET", `/threads/${threadId}/runs`)
  const { answer } = await good("GET", `/threads/${threadId}/runs/${run_id}/join`)
  const state = await send(threadId, '{"id":3,"method":"state.get","params":{}}')
  return { answer, "state.get": state.result.values.answer }
}

/** `N` is the number, `G` the graph. */
const refused: readonly (readonly [path: string, body: string, where: string])[] = [
  ["/runs/wait", '{G,"input":{"a":[0,N]}}', "body.input.a.1"],
  ["/runs/wait", '{G,"config":{"configurable":{"a":N}}}', "body.config.configurable.a"],
  ["/runs/wait", '{G,"context":{"a":N}}', "body.context.a"],
  ["/runs/wait", '{G,"metadata":{"a":N}}', "body.metadata.a"],
  ["/runs/wait", '{G,"command":{"resume":N}}', "body.command.resume"],
  ["/runs/batch", '[{G},{G,"input":{"a":N}}]', "body.1.input.a"],
  [
    "/threads",
    '{"metadata":{"graph_id":"javascript"},"supersteps":[{"updates":[{"values":{"value":N},"as_node":"node"}]}]}',
    "body.supersteps.0.updates.0.values.value",
  ],
  ["/assistants", '{"graph_id":"javascript","context":{"a":N}}', "body.context.a"],
  ["/runs/crons", '{G,"schedule":"0 0 1 1 *","input":{"a":N}}', "body.input.a"],
]

test("what a graph of JavaScript cannot hold is refused with its path, and nothing changes", async () => {
  for (const [path, body, where] of refused) {
    for (const number of ["12345678901234567890", "1e400"]) {
      const reply = await ask("POST", path, body.replaceAll("G", '"assistant_id":"javascript"').replace("N", number))
      assert.equal(reply.status, 422, `${body}: ${reply.text}`)
      assert.match(reply.text, new RegExp(where.replaceAll(".", '("?,"?|\\.)')), `${body}: ${reply.text}`)
    }
  }
  const { thread_id } = await good("POST", "/threads", '{"metadata":{"graph_id":"javascript"}}')
  const values = '{"values":{"value":[12345678901234567890]},"as_node":"node"}'
  const update = await ask("POST", `/threads/${thread_id}/state`, values)
  assert.equal(update.status, 422)
  assert.match(update.text, /values/)
  assert.deepEqual((await good("GET", `/threads/${thread_id}/state`)).next, [])
  const call =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"javascript","arguments":{"a":12345678901234567890}}}'
  const tool = await good("POST", "/mcp", call, { accept: "application/json, text/event-stream" })
  assert.match(tool.error.message, /params\.arguments\.a: a JavaScript graph cannot hold/)
})

test("a thread's metadata that its graph cannot hold is kept, and a run names it", async () => {
  const { thread_id } = await good("POST", "/threads", '{"metadata":{"customer":12345678901234567890}}')

  const asked = '{"assistant_id":"javascript","input":{"value":1}}'
  const reply = await ask("POST", `/threads/${thread_id}/runs/wait`, asked)

  assert.equal(reply.status, 422)
  assert.match(reply.text, /thread("?,"?|\.)metadata("?,"?|\.)customer/)
  const found = await good("POST", "/threads/search", '{"metadata":{"customer":12345678901234567890}}')
  const ids = found.map((thread: { thread_id: string }) => thread.thread_id)
  assert.deepEqual(ids, [thread_id])
  assert.equal((await good("POST", "/threads/search", '{"metadata":{"customer":12345678901234567000}}')).length, 0)
})

test("the store keeps numbers and finds them", async () => {
  const all = `{"namespace":["numbers"],"key":"all","value":{"it":${odd},"id":12345678901234567890}}`
  await good("PUT", "/store/items", all)

  const item = await good("GET", "/store/items?namespace=numbers&key=all")
  assertSame("python", item.value.it, odd, "item")
  const search = (id: string) =>
    good("POST", "/store/items/search", `{"namespace_prefix":["numbers"],"filter":{"id":${id}}}`)
  const found = await search("12345678901234567890")
  assertSame("python", found.items[0].value.it, odd, "found item")
  assert.equal((await search("12345678901234567000")).items.length, 0)
  assert.equal((await search('{"$gt":12345678901234567889}')).items.length, 1)
  const reply = await ask("PUT", "/store/items", '{"namespace":["numbers"],"key":"bad","value":{"it":1e400}}')
  assert.equal(reply.status, 422)
  assert.match(reply.text, /value("?,"?|\.)it/)
  await good("PUT", "/store/items", '{"namespace":["numbers"],"key":"ttl","value":{},"ttl":60.0}')
})

test("past states of Python are found by a number in their metadata", { skip: withoutPython }, async () => {
  const { thread_id } = await good("POST", "/threads", "{}")
  const body = '{"assistant_id":"python","input":{"value":1},"metadata":{"customer":12345678901234567890}}'
  await good("POST", `/threads/${thread_id}/runs/wait`, body)

  const search = (id: string) => good("POST", `/threads/${thread_id}/history`, `{"metadata":{"customer":${id}}}`)

  assert.ok((await search("12345678901234567890")).length > 0)
  assert.equal((await search("12345678901234567000")).length, 0)
})

test("a node of Python reads from the store what a client put there", { skip: withoutPython }, async () => {
  await good("PUT", "/store/items", `{"namespace":["numbers"],"key":"read","value":{"it":${odd}}}`)

  const result = await good("POST", "/runs/wait", '{"assistant_id":"python","input":{"item":"read"}}')

  assertSame("python", result.read.it, odd, "item")
})

test("a node of JavaScript is told of a number in the store that it cannot hold", async () => {
  await good("PUT", "/store/items", '{"namespace":["numbers"],"key":"large","value":{"id":12345678901234567890}}')

  const result = await good("POST", "/runs/wait", '{"assistant_id":"javascript","input":{"item":"large"}}')

  const words = /results\.0\.value\.id: a JavaScript graph cannot hold the integer 12345678901234567890/
  assert.match(result.__error__.message, words)
})

const overHttp = (threadId: string, command: string) => good("POST", `/threads/${threadId}/commands`, command)

async function overSocket(threadId: string, command: string) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/threads/${threadId}/stream/events`)
  try {
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
    const reply = new Promise<string>((resolve) =>
      socket.on("message", (data) => /"type":"(success|error)"/.test(String(data)) && resolve(String(data))),
    )
    socket.send(command)
    return parseJson(await reply)
  } finally {
    socket.terminate()
  }
}

for (const name of ["python", "javascript"] as const) {
  const skip = name === "python" && withoutPython
  for (const [door, pass] of Object.entries(doors)) {
    // Its schema is read from the source of the graph, which takes long.
    if (name === "javascript" && door.includes("A2A")) continue
    test(`${name}: numbers stay as they are in ${door}`, { skip }, async () => {
      const text = name === "python" ? odd : oddDoubles
      // LangGraph for JavaScript loses such a key in a `Send`.
      const sent = door.includes("goto") ? text : text.replace("[", '[{"__proto__":{"n":2.5}},')
      const seen = await pass(name, sent)

      for (const [where, value] of Object.entries(seen)) assertSame(name, value, sent, where)
    })
  }
}
