/**
 * Numbers reach a graph of either language as they were sent, and come back so, or are refused with their path (decision 0057).
 * Long on purpose: one server, and each of its doors.
 */
import assert from "node:assert/strict"
import { symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { isExactNumber } from "@superstep/toolkit/http/exact-number"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { randomJson } from "@superstep/toolkit/http/testing/random-json"
import type { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { WebSocket } from "ws"
import { agentDatabase, startAgentServer } from "./testing/agent-servers.js"
import { testPython, withoutPython } from "./testing/languages.js"

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

let database: Awaited<ReturnType<typeof freshDatabase>>
let server: Awaited<ReturnType<typeof startAgentServer>>

before(async () => {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ dependencies: ["."], graphs }))
  symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"))
  database = await agentDatabase()
  const env = { SUPERSTEP_CONFIG: join(folder, "langgraph.json"), SUPERSTEP_PYTHON: testPython }
  server = await startAgentServer({ databaseUri: database.uri, env, hasUnitToken: false })
})

after(async () => {
  await server?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

interface Reply {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: as of JSON.parse
  readonly json: any
}

async function ask(method: string, path: string, body?: string, headers: object = {}): Promise<Reply> {
  const init = {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body !== undefined && { body }),
  }
  const response = await fetch(`${server.url}${path}`, init)
  const text = await response.text()
  return {
    status: response.status,
    text,
    json: /^\s*[[{]/.test(text) ? parseJson(text) : undefined,
  }
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

const doors: Record<string, (name: Name, text: string) => Promise<void>> = {
  "the input of a run, its result, its stream, its kwargs and its thread": async (name, text) => {
    const { thread_id } = await good("POST", "/threads", "{}")
    const body = `{"assistant_id":"${name}","input":{"value":${text}},"stream_mode":["values","updates"]}`
    const result = await good("POST", `/threads/${thread_id}/runs/wait`, body)
    assertSame(name, result.value, text, "value")
    assertSame(name, result.echo, text, "echo")
    const stream = await ask("POST", `/threads/${thread_id}/runs/stream`, body)
    const events = [...stream.text.matchAll(/^event: (\w+)\r?\ndata: (.*)$/gm)].map(([, event, data]) => [
      event,
      parseJson(data ?? ""),
    ])
    assertSame(name, events.findLast(([event]) => event === "values")?.[1].echo, text, "values event")
    assertSame(name, events.findLast(([event]) => event === "updates")?.[1].node.echo, text, "updates event")
    const [run] = await good("GET", `/threads/${thread_id}/runs`)
    assertSame(name, run.kwargs.input.value, text, "kwargs")
    assertSame(name, (await good("GET", `/threads/${thread_id}`)).values.echo, text, "thread's values")
    const [found] = await good("POST", "/threads/search", `{"ids":["${thread_id}"],"extract":{"it":"values.echo"}}`)
    assertSame(name, found.extracted.it, text, "extracted value")
    assertSame(name, (await good("GET", `/threads/${thread_id}/state`)).values.echo, text, "state")
    assertSame(name, (await good("GET", `/threads/${thread_id}/history`))[0].values.echo, text, "history")
    const got = await good("POST", `/threads/${thread_id}/commands`, '{"id":1,"method":"state.get","params":{}}')
    assertSame(name, got.result.values.echo, text, "state.get")
  },
  "config, context and metadata of a run": async (name, text) => {
    const { thread_id } = await good("POST", "/threads", "{}")
    const rest = `"config":{"configurable":{"value":${text}}},"context":{"value":${text}},"metadata":{"value":${text}}`
    const result = await good(
      "POST",
      `/threads/${thread_id}/runs/wait`,
      `{"assistant_id":"${name}","input":{"value":1},${rest}}`,
    )
    assertSame(name, result.configured, text, "configurable")
    assertSame(name, result.context, text, "context")
    const [run] = await good("GET", `/threads/${thread_id}/runs`)
    assertSame(name, run.metadata.value, text, "metadata")
  },
  "config and context of an assistant": async (name, text) => {
    const values = `"config":{"configurable":{"value":${text}}},"metadata":{"value":${text}}`
    const made = await good("POST", "/assistants", `{"graph_id":"${name}",${values}}`)
    assertSame(name, made.config.configurable.value, text, "config")
    const patched = await good("PATCH", `/assistants/${made.assistant_id}`, `{"metadata":{"more":${text}}}`)
    assertSame(name, patched.metadata.value, text, "metadata")
    const result = await good("POST", "/runs/wait", `{"assistant_id":"${made.assistant_id}","input":{"value":1}}`)
    assertSame(name, result.configured, text, "configurable")
  },
  "an answer, and the question it answers": async (name, text) => {
    const { thread_id } = await good("POST", "/threads", "{}")
    const asked = await good(
      "POST",
      `/threads/${thread_id}/runs/wait`,
      `{"assistant_id":"${name}","input":{"ask":${text}}}`,
    )
    assertSame(name, asked.__interrupt__[0].value.ask, text, "question")
    const { interrupts } = await good("GET", `/threads/${thread_id}`)
    assertSame(
      name,
      (Object.values(interrupts) as { value: { ask: unknown } }[][])[0]?.[0]?.value.ask,
      text,
      "interrupts",
    )
    const answered = await good(
      "POST",
      `/threads/${thread_id}/runs/wait`,
      `{"assistant_id":"${name}","command":{"resume":${text}}}`,
    )
    assertSame(name, answered.answer, text, "answer")
  },
  "command.update and goto": async (name, text) => {
    const { thread_id } = await good("POST", "/threads", "{}")
    await good("POST", `/threads/${thread_id}/runs/wait`, `{"assistant_id":"${name}","input":{"value":1}}`)
    const command = `{"update":{"read":${text}},"goto":{"node":"node","input":{"value":${text}}}}`
    const result = await good(
      "POST",
      `/threads/${thread_id}/runs/wait`,
      `{"assistant_id":"${name}","command":${command}}`,
    )
    assertSame(name, result.echo, text, "goto")
  },
  "an update of the state, and supersteps": async (name, text) => {
    const { thread_id } = await good("POST", "/threads", `{"metadata":{"graph_id":"${name}"}}`)
    await good("POST", `/threads/${thread_id}/state`, `{"values":{"value":${text}},"as_node":"node"}`)
    assertSame(name, (await good("GET", `/threads/${thread_id}/state`)).values.value, text, "state")
    assertSame(name, (await good("GET", `/threads/${thread_id}`)).values.value, text, "thread")
    const made = await good(
      "POST",
      "/threads",
      `{"metadata":{"graph_id":"${name}"},"supersteps":[{"updates":[{"values":{"value":${text}},"as_node":"node"}]}]}`,
    )
    assertSame(name, (await good("GET", `/threads/${made.thread_id}/state`)).values.value, text, "superstep")
  },
  "a batch": async (name, text) => {
    const runs = await good(
      "POST",
      "/runs/batch",
      `[{"assistant_id":"${name}","input":{"value":${text}},"on_completion":"keep"}]`,
    )
    assertSame(name, runs[0].kwargs.input.value, text, "kwargs")
    const result = await good("GET", `/threads/${runs[0].thread_id}/runs/${runs[0].run_id}/join`)
    assertSame(name, result.echo, text, "result")
  },
  "a cron": async (name, text) => {
    const cron = await good(
      "POST",
      "/runs/crons",
      `{"assistant_id":"${name}","schedule":"0 0 1 1 *","input":{"value":${text}},"metadata":{"value":${text}}}`,
    )
    assertSame(name, cron.payload.input.value, text, "payload")
    const changed = await good("PATCH", `/runs/crons/${cron.cron_id}`, `{"metadata":{"more":${text}}}`)
    assertSame(name, changed.metadata.value, text, "metadata")
    assertSame(name, changed.payload.input.value, text, "payload after a change")
  },
  "arguments of a tool (MCP)": async (name, text) => {
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"value":${text}}}}`
    const reply = await good("POST", "/mcp", call, { accept: "application/json, text/event-stream" })
    assertSame(name, parseJson(reply.result.content[0].text).echo, text, "result")
  },
  "a data part (A2A), and its artifact": async (name, text) => {
    const [{ assistant_id }] = await good(
      "POST",
      "/assistants/search",
      `{"graph_id":"${name}","metadata":{"created_by":"system"}}`,
    )
    const message = `{"role":"user","messageId":"m","parts":[{"kind":"data","data":{"value":${text}}}]}`
    const call = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"message/send","params":{"message":${message}}}`
    const reply = await good("POST", `/a2a/${assistant_id}`, call, { accept: "application/json" })
    assert.equal(toJsonText(reply.id), "12345678901234567890")
    assertSame(name, reply.result.artifacts[0].parts[0].data.echo, text, "artifact")
  },
  "commands over HTTP and a WebSocket": async (name, text) => {
    for (const send of [overHttp, overSocket]) {
      const { thread_id } = await good("POST", "/threads", "{}")
      const started = await send(
        thread_id,
        `{"id":1,"method":"run.start","params":{"assistant_id":"${name}","input":{"ask":${text}}}}`,
      )
      await good("GET", `/threads/${thread_id}/runs/${started.result.run_id}/join`)
      const { interrupts } = await good("GET", `/threads/${thread_id}`)
      const id = (Object.values(interrupts) as { id: string }[][])[0]?.[0]?.id
      const answered = await send(
        thread_id,
        `{"id":2,"method":"input.respond","params":{"interrupt_id":"${id}","response":${text}}}`,
      )
      const result = await good(
        "GET",
        `/threads/${thread_id}/runs/${answered.result.run_id ?? (await newestRun(thread_id))}/join`,
      )
      assertSame(name, result.answer, text, "answer")
      const state = await send(thread_id, '{"id":3,"method":"state.get","params":{}}')
      assertSame(name, state.result.values.answer, text, "state.get")
    }
  },
}

const refused: Record<string, (text: string) => readonly [path: string, body: string, where: string]> = {
  input: (text) => ["/runs/wait", `{"assistant_id":"javascript","input":{"a":[0,${text}]}}`, "body.input.a.1"],
  configurable: (text) => [
    "/runs/wait",
    `{"assistant_id":"javascript","config":{"configurable":{"a":${text}}}}`,
    "body.config.configurable.a",
  ],
  context: (text) => ["/runs/wait", `{"assistant_id":"javascript","context":{"a":${text}}}`, "body.context.a"],
  metadata: (text) => ["/runs/wait", `{"assistant_id":"javascript","metadata":{"a":${text}}}`, "body.metadata.a"],
  resume: (text) => ["/runs/wait", `{"assistant_id":"javascript","command":{"resume":${text}}}`, "body.command.resume"],
  batch: (text) => [
    "/runs/batch",
    `[{"assistant_id":"javascript"},{"assistant_id":"javascript","input":{"a":${text}}}]`,
    "body.1.input.a",
  ],
  supersteps: (text) => [
    "/threads",
    `{"metadata":{"graph_id":"javascript"},"supersteps":[{"updates":[{"values":{"value":${text}},"as_node":"node"}]}]}`,
    "body.supersteps.0.updates.0.values.value",
  ],
  assistant: (text) => ["/assistants", `{"graph_id":"javascript","context":{"a":${text}}}`, "body.context.a"],
  cron: (text) => [
    "/runs/crons",
    `{"assistant_id":"javascript","schedule":"0 0 1 1 *","input":{"a":${text}}}`,
    "body.input.a",
  ],
}

test("what a graph of JavaScript cannot hold is refused with its path, and nothing changes", async () => {
  for (const [what, request] of Object.entries(refused)) {
    for (const number of ["12345678901234567890", "1e400"]) {
      const [path, body, where] = request(number)
      const reply = await ask("POST", path, body)
      assert.equal(reply.status, 422, `${what}: ${reply.text}`)
      assert.match(reply.text, new RegExp(`${where.replaceAll(".", '("?,"?|\\.)')}`), `${what}: ${reply.text}`)
    }
  }
  const { thread_id } = await good("POST", "/threads", '{"metadata":{"graph_id":"javascript"}}')
  const update = await ask(
    "POST",
    `/threads/${thread_id}/state`,
    '{"values":{"value":[12345678901234567890]},"as_node":"node"}',
  )
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

  const reply = await ask(
    "POST",
    `/threads/${thread_id}/runs/wait`,
    '{"assistant_id":"javascript","input":{"value":1}}',
  )

  assert.equal(reply.status, 422)
  assert.match(reply.text, /thread("?,"?|\.)metadata("?,"?|\.)customer/)
  const found = await good("POST", "/threads/search", '{"metadata":{"customer":12345678901234567890}}')
  assert.deepEqual(
    found.map((thread: { thread_id: string }) => thread.thread_id),
    [thread_id],
  )
  assert.equal((await good("POST", "/threads/search", '{"metadata":{"customer":12345678901234567000}}')).length, 0)
})

test("the store keeps numbers and finds them", async () => {
  await good(
    "PUT",
    "/store/items",
    `{"namespace":["numbers"],"key":"all","value":{"it":${odd},"id":12345678901234567890}}`,
  )

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

  assert.match(
    result.__error__.message,
    /results\.0\.value\.id: a JavaScript graph cannot hold the integer 12345678901234567890/,
  )
})

const newestRun = async (threadId: string) => (await good("GET", `/threads/${threadId}/runs`))[0].run_id

const overHttp = (threadId: string, command: string) => good("POST", `/threads/${threadId}/commands`, command)

async function overSocket(threadId: string, command: string) {
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/threads/${threadId}/stream/events`)
  try {
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
    const reply = new Promise<string>((resolve) =>
      socket.on("message", (data) =>
        String(data).includes('"type":"success"') || String(data).includes('"type":"error"')
          ? resolve(String(data))
          : undefined,
      ),
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
      await pass(name, door.includes("goto") ? text : text.replace("[", '[{"__proto__":{"n":2.5}},'))
    })
  }

  test(`${name}: random values come back as they were sent`, { skip }, async () => {
    for (let seed = 0; seed < 60; seed++) {
      const text = randomJson(seed)
      const reply = await ask("POST", "/runs/wait", `{"assistant_id":"${name}","input":{"value":${text}}}`)
      if (reply.status === 422) {
        assert.equal(name, "javascript")
        assertPathsLeadToNumbers(reply, `{"input":{"value":${text}}}`)
      } else assertSame(name, reply.json.echo, text, `seed ${seed}`)
    }
  })
}

interface Detail {
  readonly detail: unknown
}

/** Each path of the refusal leads to an integer that no double holds. */
function assertPathsLeadToNumbers(reply: Reply, body: string) {
  const paths = [
    ...String(JSON.stringify(reply.json as Detail)).matchAll(/body((?:\.[^:"]+)+): a JavaScript graph cannot hold/g),
  ].map(([, path = ""]) => path.slice(1).split("."))
  assert.ok(paths.length > 0, reply.text)
  for (const path of paths) {
    const found = path.reduce((value: unknown, key) => (value as Record<string, unknown>)[key], parseJson(body))
    assert.ok(isExactNumber(found) && !/[.eE]/.test(found.text), `${path} of ${body}`)
  }
}
