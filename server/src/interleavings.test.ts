/** Pairs of requests at the same moment (testing/interleavings.ts): on a thread, on an assistant with its crons, on an item of the store. */
import { randomUUID } from "node:crypto"
import { type TestContext, test } from "node:test"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Interleavings, Request } from "@superstep/toolkit/testing/interleavings"
import { insertAct } from "./acts/queries.js"
import { call, interleaveServers, opened, type TwoServers } from "./testing/interleavings.js"
import type { TestHttp } from "./testing/test-http.js"
import { everything, firstInterrupt, interrupts } from "./thread-stream/testing/protocol-client.js"

async function hunt<Subject>(
  t: TestContext,
  interleavings: Interleavings<TwoServers, TestHttp, Subject>,
): Promise<void> {
  t.diagnostic(`${await interleaveServers(interleavings, { usual: 4, wide: 200 })} interleavings`)
}

interface OnThread {
  readonly threadId: string
  /** The run that the setup has left on it. */
  readonly runId: string
}

const thread =
  (rest = "") =>
  ({ threadId }: Pick<OnThread, "threadId">) =>
    `/threads/${threadId}${rest}`
const run =
  (rest = "") =>
  (on: OnThread) =>
    thread(`/runs/${on.runId}${rest}`)(on)
const checkpointId = "1f000000-0000-6000-8000-000000000000"
// Characters that Postgres rejects when it reads JSON: what a request leaves must not depend on them.
const odd = "zero \u0000, half \ud800"
const agent = { assistant_id: "agent", input: { x: odd } }

const addRun = (fields: object = {}) =>
  call("POST", thread("/runs"), { body: (_: OnThread, by) => ({ ...agent, metadata: { by }, ...fields }) })

const createThread = (fields: object = {}) =>
  call("POST", () => "/threads", {
    body: ({ threadId }: OnThread) => ({ thread_id: threadId, if_exists: "do_nothing", ...fields }),
  })

const command = (method: string, params: object): Request<TestHttp, OnThread> =>
  call("POST", thread("/commands"), {
    body: (_, by) => ({ id: 1, method, params: { metadata: { by }, ...params } }),
    keep: ({ type, error }: { type: string; error?: string }) => [type, error],
  })

const stream =
  (method: string, path: string, body?: object): Request<TestHttp, OnThread> =>
  async (http, on) =>
    opened(http, { threadId: on.threadId }, await http.stream(method, thread(path)(on), body))

interface Shown {
  readonly status: string
  readonly metadata: { readonly by?: string }
  readonly values: unknown
}

const onThreads: Interleavings<TwoServers, TestHttp, OnThread> = {
  requests: {
    "create thread": createThread({ if_exists: "raise" }),
    "create or get thread": createThread(),
    "create or get thread with a state": createThread({
      metadata: { graph_id: "agent" },
      supersteps: [{ updates: [{ values: {}, as_node: "node" }] }],
    }),
    "get thread with its ttl": call("GET", thread("?include=ttl"), {
      keep: ({ metadata, ttl }: Shown & { ttl?: { ttl_minutes: number } }) => [metadata, ttl?.ttl_minutes],
    }),
    "patch thread and ttl": call("PATCH", thread(), {
      body: (_: OnThread, by) => ({ metadata: { ttl: by }, ttl: { ttl: by === "one" ? 10 : 20 } }),
    }),
    "get thread": call("GET", thread(), { keep: ({ status, metadata }: Shown) => [status, metadata] }),
    "patch thread": call("PATCH", thread(), {
      body: (_: OnThread, by) => ({ metadata: { [by]: true } }),
      keep: ({ metadata }: Shown) => metadata,
    }),
    "delete thread": call("DELETE", thread()),
    "prune thread": call("POST", () => "/threads/prune", {
      body: ({ threadId }: OnThread) => ({ thread_ids: [threadId] }),
    }),
    "copy thread": call("POST", thread("/copy"), { keep: ({ status, values }: Shown) => [status, values] }),
    "get state": call("GET", thread("/state"), { keep: ({ values }: Shown) => values }),
    "search threads": call("POST", () => "/threads/search", {
      body: ({ threadId }: OnThread) => ({ ids: [threadId] }),
      keep: (threads: Shown[]) => threads.map(({ status, metadata, values }) => [status, metadata, values]),
    }),
    "update state": call("POST", thread("/state"), { body: () => ({ values: {} }) }),
    "list runs": call("GET", thread("/runs"), {
      keep: (runs: Shown[]) => runs.map(({ status, metadata }) => [metadata.by, status]),
    }),
    "get run": call("GET", run(), { keep: ({ status }: Shown) => status }),
    "cancel run": call("POST", run("/cancel")),
    "roll run back": call("POST", run("/cancel?action=rollback")),
    "delete run": call("DELETE", run()),
    "add run": addRun(),
    "add run, create thread": addRun({ if_not_exists: "create" }),
    "add run, reject": addRun({ multitask_strategy: "reject" }),
    "add run, interrupt": addRun({ multitask_strategy: "interrupt" }),
    "add run, roll back": addRun({ multitask_strategy: "rollback" }),
    "add run later": addRun({ after_seconds: 1000 }),
    "add run, with a key": async (http, on, by) => {
      const body = { ...agent, metadata: { by }, if_not_exists: "create" }
      return [
        (await http.send("POST", thread("/runs")(on), body, { "idempotency-key": `${on.threadId} ${by}` })).status,
      ]
    },
    "add run, with one key": async (http, on) => {
      const body = { ...agent, if_not_exists: "create" }
      return [(await http.send("POST", thread("/runs")(on), body, { "idempotency-key": on.threadId })).status]
    },
    "stream new run": async (http, on, by) => {
      const body = { ...agent, metadata: { by }, if_not_exists: "create", multitask_strategy: "reject" }
      const stream = await http.stream("POST", thread("/runs/stream")(on), body)
      const runId = stream.headers.get("content-location")?.split("/").at(-1)
      return opened(http, { threadId: on.threadId, ...(runId && { runId }) }, stream)
    },
    resume: addRun({ input: undefined, command: { resume: { [firstInterrupt]: 1 } }, strict_resume: true }),
    "run.start": command("run.start", agent),
    "input.respond": command("input.respond", { interrupt_id: firstInterrupt, response: 1 }),
    "stream events": stream("POST", "/stream/events", everything),
    "stream thread": stream("GET", "/stream"),
    "stream run": async (http, on) => opened(http, on, await http.stream("GET", run("/stream")(on))),
    "input.inject": command("input.inject", { message: { role: "user", content: "and a tea" } }),
    "state.fork": command("state.fork", { checkpoint_id: checkpointId }),
    "cancel named runs": call("POST", () => "/runs/cancel", {
      body: ({ threadId, runId }: OnThread) => ({ thread_id: threadId, run_ids: [runId] }),
    }),
    "list acts": call("GET", thread("/acts"), { keep: ({ length }: unknown[]) => length }),
    "state.get": command("state.get", {}),
    "list answers": call("GET", thread("/answers"), {
      keep: (answers: unknown) => JSON.stringify(answers).length > 20,
    }),
    "get storage": call("GET", thread("/storage"), {
      keep: ({ checkpoints }: { checkpoints: unknown }) => checkpoints,
    }),
  },
  setups: {
    "no thread": async () => ({ threadId: randomUUID(), runId: randomUUID() }),
    "a thread that is idle": (world) => withEndedRun(world, sql`status = 'idle'`),
    "a thread that asks": (world) => withEndedRun(world, sql`status = 'interrupted', interrupts = ${interrupts}`),
    "a thread with a waiting run": (world) => withRun(world),
    "a thread whose run executes": async (world) => {
      const on = await withRun(world)
      await world.db.run(sql`update runs set status = 'running', attempt = 1, claim_id = gen_random_uuid(),
        claimed_by = ${world.holder}, lease_until = now() + interval '1 hour' where run_id = ${on.runId}`)
      return on
    },
  },
  always: [
    ["no thread", "run.start", "stream events"],
    ["a thread that is idle", "create or get thread", "delete thread"],
    ["a thread that asks", "prune thread", "stream events"],
    ["a thread that is idle", "create or get thread with a state", "delete thread"],
    ["a thread that is idle", "get thread with its ttl", "patch thread and ttl"],
    ["a thread that is idle", "delete thread", "list acts"],
    ["a thread that is idle", "delete thread", "list answers"],
    ["a thread that is idle", "delete thread", "get storage"],
    ["a thread with a waiting run", "roll run back", "cancel named runs"],
    ["a thread that asks", "run.start", "input.respond"],
    ["a thread that asks", "resume", "input.respond"],
  ],
  leftOf: async (db, { threadId }) => {
    const ofThread = sql`where thread_id = ${threadId}`
    return [
      await db.row(sql`select status_of(threads) as status, metadata, interrupts, values from threads ${ofThread}`),
      await db.rows(sql`
        select metadata->>'by' as by, status, cancel_action, part_of_json(kwargs, '{command}')::text as command,
          part_of_json(kwargs, '{input}')::text as input
        from runs ${ofThread} order by seq`),
      await db.row(sql`select count(*) as checkpoints from checkpoints ${ofThread}`),
    ]
  },
}

async function withRun({ second: http }: TwoServers): Promise<OnThread> {
  const threadId = randomUUID()
  const body = { ...agent, if_not_exists: "create", metadata: { by: "setup" } }
  const { json } = await http.send("POST", `/threads/${threadId}/runs`, body)
  return { threadId, runId: (json as { run_id: string }).run_id }
}

async function withEndedRun(world: TwoServers, change: Sql): Promise<OnThread> {
  const on = await withRun(world)
  await world.db.run(sql`update runs set status = 'success', attempt = 1 where run_id = ${on.runId}`)
  await world.db.run(
    sql`update threads set ${change}, values = ${JSON.stringify({ n: odd })} where thread_id = ${on.threadId}`,
  )
  await world.db.run(sql`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    values (${on.threadId}, '', ${checkpointId}, '{}', '{}')`)
  await world.db.run(sql`insert into thread_answers (thread_id, run_id, interrupts, resume, answered_at, status)
    values (${on.threadId}, ${on.runId}, '{}', '1', now(), 'success')`)
  await insertAct(world.db, {
    kind: "run",
    person: { person_id: randomUUID(), name: "Ada", email: "ada@example.com" },
    threadId: on.threadId,
    of: on,
  })
  return on
}

test("two requests on a thread are answered as if one had come after the other", (t) => hunt(t, onThreads))

interface OnAssistant {
  readonly assistantId: string
  readonly threadId: string
  readonly cronId: string
}

const assistant =
  (rest = "") =>
  ({ assistantId }: OnAssistant) =>
    `/assistants/${assistantId}${rest}`
const cron =
  (rest = "") =>
  ({ cronId }: OnAssistant) =>
    `/runs/crons/${cronId}${rest}`
const createAssistant = (ifExists: string) =>
  call("POST", () => "/assistants", {
    body: ({ assistantId }: OnAssistant, by) => ({
      assistant_id: assistantId,
      graph_id: "agent",
      if_exists: ifExists,
      name: by,
    }),
    keep: ({ name, version }: { name: string; version: number }) => [name, version],
  })
const ofAssistant = ({ assistantId }: OnAssistant) => ({ assistant_id: assistantId })
const daily = (on: OnAssistant, by: string) => ({
  ...ofAssistant(on),
  schedule: "0 3 * * *",
  input: {},
  metadata: { by },
})

const onAssistants: Interleavings<TwoServers, TestHttp, OnAssistant> = {
  requests: {
    "create assistant": createAssistant("raise"),
    "create or get assistant": createAssistant("do_nothing"),
    "get assistant": call("GET", assistant(), { keep: ({ version }: { version: number }) => version }),
    "patch assistant": call("PATCH", assistant(), {
      body: (_: OnAssistant, by) => ({ metadata: { [by]: true } }),
      keep: ({ version, metadata }: { version: number; metadata: object }) => [version, metadata],
    }),
    "set latest": call("POST", assistant("/latest"), { body: () => ({ version: 1 }) }),
    versions: call("POST", assistant("/versions"), { body: () => ({}), keep: ({ length }: unknown[]) => length }),
    "delete assistant": call("DELETE", assistant()),
    "delete assistant and threads": call("DELETE", assistant("?delete_threads=true")),
    "add run": call("POST", thread("/runs"), { body: (on: OnAssistant) => ({ ...ofAssistant(on), input: {} }) }),
    "add stateless runs": call("POST", () => "/runs/batch", {
      body: (on: OnAssistant) => [1, 2].map(() => ({ ...ofAssistant(on), input: {} })),
    }),
    "add stateless run": call("POST", () => "/runs", {
      body: (on: OnAssistant) => ({ ...ofAssistant(on), input: {} }),
    }),
    "delete thread": call("DELETE", thread()),
    "create cron": call("POST", () => "/runs/crons", { body: daily }),
    "create cron on thread": call("POST", thread("/runs/crons"), { body: daily }),
    "get cron": call("GET", cron(), { keep: ({ enabled }: { enabled: boolean }) => enabled }),
    "patch cron": call("PATCH", cron(), {
      body: (_: OnAssistant, by) => ({ metadata: { [by]: true } }),
      keep: ({ metadata }: { metadata: object }) => metadata,
    }),
    "switch cron off": call("PATCH", cron(), { body: () => ({ enabled: false }) }),
    "run cron": call("POST", cron("/run")),
    "delete cron": call("DELETE", cron()),
  },
  setups: {
    "no assistant": async ({ second: http }) => {
      const on = { assistantId: randomUUID(), threadId: randomUUID(), cronId: randomUUID() }
      await http.send("POST", "/threads", { thread_id: on.threadId })
      return on
    },
    "an assistant, a thread and a cron": async ({ second: http }) => {
      const on = { assistantId: randomUUID(), threadId: randomUUID() }
      await http.send("POST", "/assistants", { assistant_id: on.assistantId, graph_id: "agent", name: "setup" })
      await http.send("PATCH", `/assistants/${on.assistantId}`, { name: "second" })
      await http.send("POST", "/threads", { thread_id: on.threadId })
      await http.send("POST", `/threads/${on.threadId}/runs`, { assistant_id: on.assistantId, input: {} })
      const made = await http.send("POST", `/threads/${on.threadId}/runs/crons`, daily({ ...on, cronId: "" }, "setup"))
      return { ...on, cronId: (made.json as { cron_id: string }).cron_id }
    },
  },
  always: [
    ["an assistant, a thread and a cron", "versions", "delete assistant"],
    ["an assistant, a thread and a cron", "create or get assistant", "delete assistant"],
    ["an assistant, a thread and a cron", "delete assistant and threads", "add stateless run"],
    ["an assistant, a thread and a cron", "delete assistant and threads", "add stateless runs"],
  ],
  leftOf: async (db, { assistantId, threadId }) => [
    await db.row(sql`select name, version, metadata from assistants where assistant_id = ${assistantId}`),
    await db.row(sql`select count(*) as versions from assistant_versions where assistant_id = ${assistantId}`),
    await db.rows(sql`select metadata, enabled, thread_id is null as stateless from crons
      where assistant_id = ${assistantId} order by metadata::text`),
    await db.row(sql`select status_of(threads) as status from threads where thread_id = ${threadId}`),
    await db.rows(
      sql`select status, thread_id = ${threadId} as own from runs where assistant_id = ${assistantId} order by own, status`,
    ),
  ],
}

test("two requests on an assistant are answered as if one had come after the other", (t) => hunt(t, onAssistants))

interface OnItem {
  readonly key: string
}

const put = (fields: object = {}) =>
  call("PUT", () => "/store/items", {
    body: ({ key }: OnItem, by) => ({ namespace: ["a"], key, value: { by }, ...fields }),
  })

const onItems: Interleavings<TwoServers, TestHttp, OnItem> = {
  requests: {
    put: put(),
    "put if there is none": put({ if_value: null }),
    "put if it is the setup's": put({ if_value: { by: "setup" } }),
    get: call("GET", ({ key }) => `/store/items?namespace=a&key=${key}`, {
      keep: (item: { value: object } | null) => item?.value,
    }),
    delete: call("DELETE", () => "/store/items", { body: ({ key }: OnItem) => ({ namespace: ["a"], key }) }),
    search: call("POST", () => "/store/items/search", {
      body: () => ({ namespace_prefix: ["a"], limit: 1000 }),
      keep: ({ items }: { items: object[] }) => items.length > 0,
    }),
  },
  setups: {
    "no item": async ({ db }) => {
      await db.run(sql`delete from store`)
      return { key: randomUUID() }
    },
    "an item": async ({ db, second: http }) => {
      await db.run(sql`delete from store`)
      const key = randomUUID()
      await http.send("PUT", "/store/items", { namespace: ["a"], key, value: { by: "setup" } })
      return { key }
    },
  },
  always: [],
  leftOf: async (db) => db.rows(sql`select value from store`),
}

test("two requests on an item of the store are answered as if one had come after the other", (t) => hunt(t, onItems))
