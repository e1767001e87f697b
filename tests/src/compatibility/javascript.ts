/**
 * Every method of the JavaScript client and of `RemoteGraph`, in an order in which each finds what it needs. The
 * clients' own classes are the list: a method that is neither called here nor named in `gaps` fails the test.
 */
import assert from "node:assert/strict"
import { RemoteGraph } from "@langchain/langgraph/remote"
import { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { messageTexts } from "../testing/message-texts.js"
import type { Called, Request } from "./calls.js"

/** Methods without a call, and why. */
export const gaps: Readonly<Record<string, string>> = {
  "threads.patchState": "no known server has its route; use `threads.update`",
}

// What every class of the client inherits for its own use.
const inherited = ["constructor", "prepareFetchOptions", "fetch", "streamWithRetry"]

/** The public methods of a client, as `threads.create`. */
function methodsOf(client: Client): string[] {
  return Object.entries(client).flatMap(([name, part]) =>
    typeof part === "object" && part !== null ? ownMethods(part).map((method) => `${name}.${method}`) : [],
  )
}

const ownMethods = (part: object): string[] =>
  Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((name) => !inherited.includes(name))

/** What the calls share: what one made, the next one uses. */
interface World {
  readonly client: Client
  /** Notes the requests of a thread's stream, which does not use the client's `fetch`. */
  readonly fetch: typeof fetch
  /** Another client, for what a call needs before and looks at afterwards. */
  readonly aid: Client
  readonly remote: RemoteGraph
  threadId: string
  assistantId: string
  runId: string
  cronId: string
}

const question = { messages: [{ role: "user", content: "hi" }] }

async function lastOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined
  for await (const item of stream) last = item
  return last
}

const newThread = async ({ aid }: World) => (await aid.threads.create()).thread_id

type RemoteClient = NonNullable<ConstructorParameters<typeof RemoteGraph>[0]["client"]>

/** LangGraph brings its own copy of the client's types; the objects are the same. */
const remoteGraphOf = (client: Client, graphId: string): RemoteGraph =>
  new RemoteGraph({ graphId, client: client as unknown as RemoteClient })

type Call = (world: World) => Promise<void>

const assistants: Record<string, Call> = {
  "assistants.create": async (world) => {
    const made = await world.client.assistants.create({ graphId: "chat", name: "Support", metadata: { team: "a" } })
    world.assistantId = made.assistant_id
    assert.equal(made.version, 1)
  },
  "assistants.get": async ({ client, assistantId }) => {
    assert.equal((await client.assistants.get(assistantId)).name, "Support")
  },
  "assistants.getGraph": async ({ client }) => {
    const graph = await client.assistants.getGraph("chat", { xray: true })
    assert.ok(graph.nodes.some(({ id }) => id === "model"))
  },
  "assistants.getSchemas": async ({ client, assistantId }) => {
    assert.equal((await client.assistants.getSchemas(assistantId)).graph_id, "chat")
  },
  "assistants.getSubgraphs": async ({ client }) => {
    assert.deepEqual(Object.keys(await client.assistants.getSubgraphs("nested")), ["sub"])
    assert.deepEqual(Object.keys(await client.assistants.getSubgraphs("nested", { namespace: "sub" })), ["sub"])
  },
  "assistants.update": async ({ client, assistantId }) => {
    assert.equal((await client.assistants.update(assistantId, { name: "Sales" })).version, 2)
  },
  "assistants.getVersions": async ({ client, assistantId }) => {
    const versions = await client.assistants.getVersions(assistantId)
    assert.deepEqual(
      versions.map(({ version }) => version),
      [2, 1],
    )
  },
  "assistants.setLatest": async ({ client, assistantId }) => {
    assert.equal((await client.assistants.setLatest(assistantId, 1)).name, "Support")
  },
  "assistants.search": async ({ client, assistantId }) => {
    const { assistants } = await client.assistants.search({ metadata: { team: "a" }, includePagination: true })
    assert.deepEqual(
      assistants.map(({ assistant_id }) => assistant_id),
      [assistantId],
    )
  },
  "assistants.count": async ({ client }) => {
    assert.equal(await client.assistants.count({ metadata: { team: "a" } }), 1)
  },
  "assistants.delete": async ({ client, aid, assistantId }) => {
    await client.assistants.delete(assistantId, { deleteThreads: true })
    await assert.rejects(aid.assistants.get(assistantId), /404/)
  },
}

const runs: Record<string, Call> = {
  "runs.stream": async (world) => {
    const last = await lastOf(
      world.client.runs.stream(world.threadId, "chat", {
        input: question,
        streamMode: ["messages-tuple", "values"],
        onRunCreated: ({ run_id }) => {
          world.runId = run_id
        },
      }),
    )
    assert.equal(last?.event, "end")
  },
  "runs.create": async ({ client, threadId }) => {
    assert.equal((await client.runs.create(threadId, "chat", { input: question })).status, "pending")
    assert.equal((await client.runs.create(null, "chat", { input: question })).status, "pending")
  },
  "runs.createBatch": async ({ client }) => {
    const made = await client.runs.createBatch([
      { assistantId: "chat", input: question },
      { assistantId: "chat", input: question },
    ])
    assert.equal(made.length, 2)
  },
  "runs.wait": async ({ client, threadId }) => {
    const state = (await client.runs.wait(threadId, "chat", { input: question })) as { messages: unknown[] }
    assert.ok(state.messages.length >= 4)
    const alone = (await client.runs.wait(null, "chat", { input: question })) as { messages: unknown[] }
    assert.equal(alone.messages.length, 2)
  },
  "runs.list": async ({ client, threadId, runId }) => {
    assert.ok((await client.runs.list(threadId, { status: "success" })).some(({ run_id }) => run_id === runId))
  },
  "runs.get": async ({ client, threadId, runId }) => {
    assert.equal((await client.runs.get(threadId, runId)).status, "success")
  },
  "runs.join": async ({ client, threadId, runId }) => {
    assert.ok("messages" in ((await client.runs.join(threadId, runId)) as object))
  },
  "runs.joinStream": async (world) => {
    const threadId = await newThread(world)
    const { run_id } = await world.aid.runs.create(threadId, "slow", {
      input: { n: 3 },
      streamMode: ["values"],
      streamResumable: true,
    })
    const streams = [threadId, null].map((id) => world.client.runs.joinStream(id, run_id, { lastEventId: "-1" }))
    for (const last of await Promise.all(streams.map(lastOf))) assert.equal(last?.event, "end")
  },
  "runs.cancel": async (world) => {
    const threadId = await newThread(world)
    const { run_id } = await world.aid.runs.create(threadId, "slow", { input: { n: 0 } })
    await world.client.runs.cancel(threadId, run_id, true)
    assert.equal((await world.aid.runs.get(threadId, run_id)).status, "interrupted")
  },
  "runs.cancelMany": async (world) => {
    const threadId = await newThread(world)
    const { run_id } = await world.aid.runs.create(threadId, "slow", { input: { n: 0 } })
    await world.client.runs.cancelMany({ threadId, runIds: [run_id] })
    await until(async () => (await world.aid.runs.get(threadId, run_id)).status === "interrupted", {
      what: "the run is cancelled",
    })
  },
  "runs.delete": async ({ client, aid, threadId, runId }) => {
    await client.runs.delete(threadId, runId)
    await assert.rejects(aid.runs.get(threadId, runId), /404/)
  },
}

const threads: Record<string, Call> = {
  "threads.create": async (world) => {
    world.threadId = (await world.client.threads.create({ graphId: "chat", metadata: { topic: "greeting" } })).thread_id
  },
  ...runs,
  "threads.get": async ({ client, threadId }) => {
    assert.equal((await client.threads.get(threadId)).thread_id, threadId)
  },
  "threads.update": async ({ client, threadId }) => {
    const changed = await client.threads.update(threadId, { metadata: { seen: true } })
    const { topic, seen } = { topic: undefined, seen: undefined, ...changed.metadata }
    assert.deepEqual([topic, seen], ["greeting", true])
  },
  "threads.search": async ({ client, threadId }) => {
    const found = await client.threads.search({ metadata: { topic: "greeting" }, select: ["thread_id"] })
    assert.deepEqual(found, [{ thread_id: threadId }])
  },
  "threads.count": async ({ client }) => {
    assert.equal(await client.threads.count({ metadata: { topic: "greeting" } }), 1)
  },
  "threads.getState": async ({ client, threadId }) => {
    const { checkpoint } = await client.threads.getState(threadId)
    for (const address of [checkpoint, checkpoint.checkpoint_id ?? ""]) {
      const again = await client.threads.getState(threadId, address)
      assert.equal(again.checkpoint.checkpoint_id, checkpoint.checkpoint_id)
    }
  },
  "threads.updateState": async ({ client, aid, threadId }) => {
    const values = { messages: [{ role: "user", content: "one more" }] }
    const before = await aid.threads.getState<{ messages: unknown[] }>(threadId)
    await client.threads.updateState(threadId, { values, asNode: "model" })
    const after = await aid.threads.getState<{ messages: unknown[] }>(threadId)
    assert.equal(after.values.messages.length, before.values.messages.length + 1)
  },
  "threads.getHistory": async ({ client, threadId }) => {
    assert.ok((await client.threads.getHistory(threadId, { limit: 5 })).length === 5)
  },
  "threads.joinStream": async (world) => {
    const threadId = await newThread(world)
    const leave = new AbortController()
    const stream = world.client.threads.joinStream(threadId, { lastEventId: "-", signal: leave.signal })
    const events: string[] = []
    const reading = (async () => {
      for await (const { event } of stream) {
        events.push(event)
        if (event === "values") break
      }
    })()
    await Promise.all([reading, world.aid.runs.wait(threadId, "chat", { input: question })])
    leave.abort()
    assert.ok(events.includes("values"))
  },
  "threads.stream": async (world) => {
    const { fetch } = world
    const stream = world.client.threads.stream(await newThread(world), { assistantId: "chat", fetch })
    const reading = messageTexts(stream.messages)
    await stream.run.start({ input: question })
    const texts = await reading
    const output = (await stream.output) as { messages: unknown[] }
    await stream.close()
    assert.deepEqual([texts.length, output.messages.length], [1, 2])
  },
  "threads.copy": async ({ client, aid, threadId }) => {
    const copy = (await client.threads.copy(threadId)) as unknown as { thread_id: string }
    const [original, copied] = await Promise.all([aid.threads.getState(threadId), aid.threads.getState(copy.thread_id)])
    assert.deepEqual(copied.values, original.values)
  },
  "threads.prune": async ({ client, aid, threadId }) => {
    await client.threads.prune([threadId], { strategy: "keep_latest" })
    assert.equal((await aid.threads.getHistory(threadId)).length, 1)
  },
  "threads.delete": async ({ client, aid, threadId }) => {
    await client.threads.delete(threadId)
    await assert.rejects(aid.threads.get(threadId), /404/)
  },
}

const crons: Record<string, Call> = {
  "crons.create": async (world) => {
    const made = await world.client.crons.create("chat", { schedule: "0 5 * * *", input: question })
    world.cronId = made.cron_id
  },
  "crons.createForThread": async (world) => {
    const threadId = await newThread(world)
    const made = await world.client.crons.createForThread(threadId, "chat", { schedule: "0 5 * * *", input: question })
    assert.equal(made.thread_id, threadId)
  },
  "crons.update": async ({ client, cronId }) => {
    assert.equal((await client.crons.update(cronId, { schedule: "0 6 * * *" })).schedule, "0 6 * * *")
  },
  "crons.search": async ({ client, cronId }) => {
    assert.ok((await client.crons.search({ assistantId: "chat" })).some(({ cron_id }) => cron_id === cronId))
  },
  "crons.count": async ({ client }) => {
    assert.equal(await client.crons.count(), 2)
  },
  "crons.delete": async ({ client, aid, cronId }) => {
    await client.crons.delete(cronId)
    assert.equal(await aid.crons.count(), 1)
  },
}

const store: Record<string, Call> = {
  "store.putItem": ({ client }) => client.store.putItem(["notes", "ann"], "first", { text: "tea" }),
  "store.getItem": async ({ client }) => {
    assert.deepEqual((await client.store.getItem(["notes", "ann"], "first"))?.value, { text: "tea" })
  },
  "store.searchItems": async ({ client }) => {
    assert.equal((await client.store.searchItems(["notes"], { filter: { text: "tea" } })).items.length, 1)
  },
  "store.listNamespaces": async ({ client }) => {
    assert.deepEqual((await client.store.listNamespaces({ prefix: ["notes"] })).namespaces, [["notes", "ann"]])
  },
  "store.deleteItem": async ({ client, aid }) => {
    await client.store.deleteItem(["notes", "ann"], "first")
    assert.equal(await aid.store.getItem(["notes", "ann"], "first"), null)
  },
}

const ui: Record<string, Call> = {
  "~ui.getComponent": async ({ client }) => {
    assert.match(await client["~ui"].getComponent("chat", "weather"), /entrypoint\.js/)
  },
}

const remoteGraph: Record<string, Call> = {
  "RemoteGraph.invoke": async (world) => {
    world.threadId = await newThread(world)
    const config = { configurable: { thread_id: world.threadId } }
    assert.ok((await world.remote.invoke(question, config)).messages.length >= 2)
  },
  "RemoteGraph.stream": async ({ remote }) => {
    const last = await lastOf(await remote.stream(question, { streamMode: "values" }))
    assert.ok((last as { messages: unknown[] }).messages.length >= 2)
  },
  "RemoteGraph.getState": async ({ remote, threadId }) => {
    assert.ok((await remote.getState({ configurable: { thread_id: threadId } })).values.messages.length >= 2)
  },
  "RemoteGraph.updateState": async ({ remote, threadId }) => {
    const values = { messages: [{ role: "user", content: "more" }] }
    await remote.updateState({ configurable: { thread_id: threadId } }, values, "model")
  },
  "RemoteGraph.getStateHistory": async ({ remote, threadId }) => {
    const states: unknown[] = []
    for await (const state of remote.getStateHistory({ configurable: { thread_id: threadId } })) states.push(state)
    assert.ok(states.length >= 3)
  },
  "RemoteGraph.getGraphAsync": async ({ remote }) => {
    assert.ok("model" in (await remote.getGraphAsync({ xray: true })).nodes)
  },
  "RemoteGraph.getSubgraphsAsync": async ({ client }) => {
    const nested = remoteGraphOf(client, "nested")
    const names: string[] = []
    for await (const [name] of nested.getSubgraphsAsync()) names.push(name)
    assert.deepEqual(names, ["sub"])
  },
}

const all: Readonly<Record<string, Call>> = { ...assistants, ...threads, ...crons, ...store, ...ui, ...remoteGraph }

/** Calls every method against a server with the graphs of `tests/graphs`. */
export async function callAll(options: { url: string; headers: Readonly<Record<string, string>> }): Promise<Called[]> {
  let requests: Request[] = []
  const recordingFetch: typeof fetch = (input, init) => {
    const { pathname } = new URL(input instanceof globalThis.Request ? input.url : String(input))
    requests.push({ method: init?.method ?? "GET", path: pathname })
    return fetch(input, init)
  }
  const clientWith = (callerOptions: { fetch?: typeof fetch }) =>
    new Client({
      apiUrl: options.url,
      defaultHeaders: options.headers,
      callerOptions: { maxRetries: 0, ...callerOptions },
    })
  const client = clientWith({ fetch: recordingFetch })
  const world: World = {
    client,
    fetch: recordingFetch,
    aid: clientWith({}),
    remote: remoteGraphOf(client, "chat"),
    threadId: "",
    assistantId: "",
    runId: "",
    cronId: "",
  }
  const called: Called[] = []
  for (const [name, call] of Object.entries(all)) {
    requests = []
    const failure = await call(world).then(
      () => undefined,
      (error: Error) => error.message,
    )
    called.push({ client: name, requests, failure })
  }
  return called
}

/** Methods of the client that nobody calls and that no gap explains. */
export const uncalled = (client: Client): string[] =>
  methodsOf(client).filter((method) => !(method in all) && !(method in gaps))
