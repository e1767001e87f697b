/** `superstep import` brings assistants, threads, crons and store items from one agent server to another, in both languages. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { text } from "node:stream/consumers"
import { type TestContext, test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import type { Ended } from "superstep/testing/run-cli"
import { runCli, startCli } from "superstep/testing/run-cli"
import { type GraphServer, graphsConfig, startGraphServer } from "./testing/graph-server.js"
import { graphLanguages } from "./testing/languages.js"

type Json = Record<string, unknown>

const cwd = temporaryFolder()
const importTo = (to: { readonly url: string }, from: GraphServer, ...more: string[]): Promise<Ended> =>
  runCli(["import", to.url, "--from", from.url, ...more], { cwd })

async function send(server: GraphServer, method: string, path: string, body?: unknown) {
  const sent = typeof body === "string" ? body : JSON.stringify(body)
  const headers = { "content-type": "application/json" }
  const reply = await fetch(`${server.url}${path}`, { method, headers, ...(body !== undefined && { body: sent }) })
  const text = await reply.text()
  assert.ok(reply.ok, `${method} ${path}: ${reply.status} ${text}`)
  return text === "" ? undefined : JSON.parse(text)
}

const run = async (server: GraphServer, threadId: string, assistant_id: string, more: Json) =>
  send(server, "POST", `/threads/${threadId}/runs/wait`, { assistant_id, ...more })

async function threadWith(server: GraphServer, assistantId: string, ...runs: Json[]): Promise<string> {
  const { thread_id } = await send(server, "POST", "/threads", { metadata: { owner: assistantId, deep: { is: [1] } } })
  for (const more of runs) await run(server, thread_id, assistantId, more)
  return thread_id
}

const human = (content: string) => ({ input: { messages: [{ role: "user", content }] } })

/** What a checkpoint means: whoever looks at the past, forks it or goes on sees the same. */
async function historyOf(server: GraphServer, threadId: string) {
  const states = (await send(server, "POST", `/threads/${threadId}/history`, { limit: 1000 })) as {
    values: unknown
    next: unknown
    checkpoint: { checkpoint_id: string }
  }[]
  return states.map(({ values, next }) => ({ values, next }))
}

/**
 * In front of a server.
 * @param pass  called with each request before the server gets it; `loses` decides whether the caller gets the server's reply, `refuses`
 *              whether the server gets the request
 */
async function proxyOf({ url }: GraphServer, pass: (asked: string) => Promise<{ loses: boolean; refuses?: boolean }>) {
  const { origin, ...proxy } = await portServer(async (request, response) => {
    const body = await text(request)
    const { method = "GET" } = request
    const { loses, refuses } = await pass(`${method} ${request.url} ${body}`)
    if (refuses) return void response.writeHead(418).end("{}")
    const key = request.headers["idempotency-key"]
    const headers = { "content-type": "application/json", ...(key && { "idempotency-key": String(key) }) }
    const reply = await fetch(`${url}${request.url}`, { method, headers, ...(body !== "" && { body }) })
    const answer = await reply.text()
    if (loses) response.destroy()
    else response.writeHead(reply.status, { "content-type": "application/json" }).end(answer)
  })
  return { ...proxy, url: origin }
}

/** The first reply to each request that writes is lost, after the server has done it. */
function losingProxy(server: GraphServer) {
  const asked = new Set<string>()
  return proxyOf(server, async (request) => {
    const loses = !/^GET |\/(search|history|versions|count|namespaces) /.test(request) && !asked.has(request)
    asked.add(request)
    return { loses }
  })
}

async function openServers(t: TestContext, env: Readonly<Record<string, string>>) {
  const open = () => startGraphServer(env, { hasUnitToken: false })
  const servers = await Promise.all([open(), open()])
  t.after(() => Promise.all(servers.map((server) => server[Symbol.asyncDispose]())))
  return servers
}

/** As a model answers: Python's LangChain would read the tokens of such a dict as something else. */
const answer = {
  type: "ai",
  id: "answer-1",
  content: [{ type: "text", text: "21 °C" }],
  tool_calls: [{ name: "weather", args: { city: "Köln" }, id: "call-1", type: "tool_call" }],
  invalid_tool_calls: [],
  usage_metadata: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
  response_metadata: { model_name: "fake" },
  additional_kwargs: { reasoning: "looked it up" },
}

for (const { name, env, skip } of graphLanguages) {
  test(`threads keep their ids, metadata, states and history, and go on (${name})`, { skip }, async (t) => {
    const [old, now] = await openServers(t, env)
    const chat = await threadWith(old, "chat", human("one"), human("two"))
    const nested = await threadWith(old, "nested", human("one"))
    const resume = (answer: string) => ({ command: { resume: answer } })
    const answered = await threadWith(old, "chain", { input: {} }, resume("A"), resume("B"))
    const waiting = await threadWith(old, "chain", { input: {} }, resume("A"))
    const both = await threadWith(old, "hitl2", { input: {} })
    const broken = await threadWith(old, "error", { input: { x: 1 } })
    const edited = await threadWith(old, "chat", human("one"))
    await send(old, "POST", `/threads/${edited}/state`, { values: { messages: [answer] } })
    const empty = (await send(old, "POST", "/threads", { metadata: { draft: true } })).thread_id

    const { code, stdout, stderr } = await importTo(now, old)

    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /^threads: 8 imported with \d+ checkpoints$/m)
    for (const id of [chat, nested, answered, waiting, both, broken, edited, empty]) {
      assert.deepEqual(await historyOf(now, id), await historyOf(old, id), id)
      const [there, here] = [await send(old, "GET", `/threads/${id}`), await send(now, "GET", `/threads/${id}`)]
      assert.deepEqual([here.metadata, here.values], [there.metadata, there.values])
    }
    const { messages } = (await historyOf(now, edited))[0]?.values as { messages: Json[] }
    assert.deepEqual({ ...messages.at(-1), ...answer }, messages.at(-1))

    for (const server of [old, now]) {
      await run(server, waiting, "chain", { command: { resume: "B" } })
      await run(server, both, "hitl2", { input: null })
    }
    assert.deepEqual((await historyOf(now, waiting))[0], (await historyOf(old, waiting))[0])
    assert.deepEqual(await questionsOf(now, both), await questionsOf(old, both))
  })
}

const questionsOf = async (server: GraphServer, threadId: string): Promise<unknown[]> =>
  Object.values((await send(server, "GET", `/threads/${threadId}`)).interrupts as Record<string, { value: unknown }[]>)
    .flat()
    .map(({ value }) => value)

test("an import is repeated, goes on after a kill, and changes nothing that lives here", {
  skip: unlessWide("kills an import and repeats it many times"),
}, async (t) => {
  const [old, now] = await openServers(t, { SUPERSTEP_CONFIG: graphsConfig })
  const drafts = Array.from({ length: 120 }, () => send(old, "POST", "/threads", { metadata: { graph_id: "chat" } }))
  await Promise.all(drafts)
  const chat = await threadWith(old, "chat", human("one"))
  const partly = await threadWith(old, "hitl2", { input: {} })
  const [{ id: question } = { id: "" }] = Object.values(
    (await send(old, "GET", `/threads/${partly}`)).interrupts as Record<string, { id: string }[]>,
  ).flat()
  await run(old, partly, "hitl2", { command: { resume: { [question]: "A" } } })
  const count = async (): Promise<number> => send(now, "POST", "/threads/count", {})

  await t.test("after a kill, the same command brings the rest", async () => {
    const killed = startCli(["import", now.url, "--from", old.url, "--concurrency", "1"], { cwd })
    await until(async () => (await count()) > 10, { what: "some threads are here", timeoutMs: 60_000 })
    killed.signal("SIGKILL")
    await killed.ended
    const before = await count()
    assert.ok(before < 122, "the import was quicker than its kill")

    const { code, stdout, stderr } = await importTo(now, old)

    assert.equal(code, 1)
    // What one of two parallel nodes wrote before the other one was asked is not in any checkpoint.
    assert.match(stderr, new RegExp(`${partly}: a ran beside a node that waits, and runs again`))
    assert.match(
      stdout,
      /^threads: \d+ imported .*, \d+ were on the new server already, 1 on the new server, but not as on the old one$/m,
    )
    assert.equal(await count(), 122)
  })

  await t.test("Ctrl-C ends it in order", async () => {
    let [isAsked, isReleased] = [false, false]
    using proxy = await proxyOf(old, async () => {
      isAsked = true
      await until(() => isReleased, { what: "it is told to stop" })
      return { loses: false }
    })
    const stopped = startCli(["import", now.url, "--from", proxy.url, "--only", "threads"], { cwd })
    await until(() => isAsked, { what: "it reads", timeoutMs: 60_000 })
    stopped.signal("SIGINT")
    isReleased = true
    const { code, stdout, stderr } = await stopped.ended

    assert.equal(code, 1)
    assert.match(stdout, /^threads: 0 imported/)
    assert.match(stderr, /the same command goes on where it was/)
  })

  await t.test("a thread that went on there is imported again on request, one that went on here is not", async () => {
    await run(old, chat, "chat", human("two"))
    const refused = await importTo(now, old, "--only", "threads")
    const before = await historyOf(now, chat)
    using broken = await proxyOf(old, async (asked) => ({ loses: false, refuses: asked.includes(`/${chat}/history`) }))
    const unread = await importTo(now, { ...old, url: broken.url }, "--only", "threads", "--replace")
    assert.match(unread.stderr, new RegExp(`${chat}.*418`))
    assert.deepEqual(await historyOf(now, chat), before)
    using losing = await losingProxy(now)
    const replaced = await importTo(losing, old, "--only", "threads", "--replace")
    assert.match(
      refused.stderr,
      new RegExp(`${chat}: the new server has it with another state: it is left as it is; --replace`),
    )
    assert.match(replaced.stdout, /^threads: 1 imported/m)
    assert.deepEqual(await historyOf(now, chat), await historyOf(old, chat))

    await run(now, chat, "chat", human("here"))
    const state = await historyOf(now, chat)
    const kept = await importTo(now, old, "--only", "threads", "--replace")

    assert.match(
      kept.stderr,
      new RegExp(`${chat}: the new server has it with another state, and runs: it is left as it is`),
    )
    assert.deepEqual(await historyOf(now, chat), state)
  })

  await t.test("a long thread has its newest checkpoints, the oldest of them with what came before", async () => {
    const long = await threadWith(old, "chat", ...Array.from({ length: 6 }, (_, n) => human(`turn ${n}`)))

    const { stderr } = await importTo(now, old, "--only", "threads", "--checkpoints", "4")

    const [whole, part] = [await historyOf(old, long), await historyOf(now, long)]
    assert.match(stderr, new RegExp(`${long}: its history has the newest ${part.length} checkpoints`))
    assert.ok(part.length >= 4 && part.length < whole.length)
    assert.deepEqual(part, whole.slice(0, part.length))
  })
})

test("store items, crons, assistants with their versions, and exact numbers are brought once, also when replies are lost", {
  skip: unlessWide("imports seven times"),
}, async (t) => {
  const [old, now] = await openServers(t, { SUPERSTEP_CONFIG: graphsConfig })
  const exact = '{"big":12345678901234567890,"float":1.0,"__proto__":{"x":1}}'
  const item = (namespace: string[], key: string) =>
    `{"namespace":${JSON.stringify(namespace)},"key":"${key}","value":${exact}}`
  const places = [
    [["users"], "top"],
    [["users", "ada"], "deep"],
    [["users", "ada", "notes"], "deeper"],
  ] as const
  for (const [namespace, key] of places) await send(old, "PUT", "/store/items", item([...namespace], key))
  const assistant_id = randomUUID()
  await send(old, "POST", "/assistants", { assistant_id, graph_id: "chat", name: "one", metadata: { team: "x" } })
  await send(old, "PATCH", `/assistants/${assistant_id}`, { name: "two", context: { tone: "calm" } })
  await send(old, "POST", `/assistants/${assistant_id}/latest`, { version: 1 })
  const metadata = `{"metadata":{"graph_id":"chat","n":${exact}}}`
  const { thread_id } = await send(old, "POST", "/threads", metadata)
  const yearly = { assistant_id, schedule: "0 9 1 1 *" }
  const end_time = "2090-01-01T00:00:00Z"
  const free = { ...human("one"), timezone: "Europe/Berlin", metadata: { is: "free" } }
  await send(old, "POST", "/runs/crons", { ...yearly, ...free })
  await send(old, "POST", `/threads/${thread_id}/runs/crons`, { ...yearly, end_time, metadata: { is: "of a thread" } })
  await send(old, "POST", "/runs/crons", { ...yearly, enabled: false, metadata: { is: "paused" } })

  using losing = await losingProxy(now)
  const first = await importTo(losing, old)
  const again = await importTo(now, old, "--json")

  assert.equal(first.code, 0, first.stderr)
  assert.equal(
    first.stdout,
    "assistants: 1 imported\nthreads: 1 imported with 0 checkpoints\ncrons: 3 imported\nstore items: 3 imported\n",
  )
  assert.match(first.stderr, /Crons are paused on the new server/)
  const { assistants, threads, crons, store } = JSON.parse(again.stdout)
  const brought = [assistants, threads, crons, store].map(({ there, imported }) => `${imported} of ${there}`)
  assert.deepEqual(brought, ["0 of 1", "0 of 1", "0 of 3", "0 of 3"])
  const raw = async (server: GraphServer, path: string) => (await fetch(`${server.url}${path}`)).text()
  for (const [namespace, key] of places) {
    const path = `/store/items?namespace=${namespace.join(".")}&key=${key}`
    assert.ok((await raw(now, path)).includes('"big":12345678901234567890'), "the number is exact")
    assert.ok((await raw(now, path)).includes('"float":1.0'), "the float is one")
  }
  assert.ok((await raw(now, `/threads/${thread_id}`)).includes('"big":12345678901234567890'))
  const versions = async (server: GraphServer) => {
    const all: Json[] = await send(server, "POST", `/assistants/${assistant_id}/versions`, {})
    return all.map(({ created_at: _, ...version }) => version)
  }
  assert.deepEqual(await versions(now), await versions(old))
  assert.equal((await send(now, "GET", `/assistants/${assistant_id}`)).name, "one")
  const pausedOld = async () => (await cronsIn(old)).map((cron) => ({ ...cron, enabled: false }))
  assert.deepEqual(await cronsIn(now), await pausedOld())

  // Not moved: what was deleted there. Without --replace, what changed there neither.
  const { value } = await send(now, "GET", "/store/items?namespace=users&key=top")
  await send(old, "PUT", "/store/items", { namespace: ["users"], key: "top", value: { is: "new" } })
  await send(old, "DELETE", "/store/items", { namespace: ["users", "ada"], key: "deep" })
  const [{ cron_id }] = await send(old, "POST", "/runs/crons/search", { metadata: { is: "free" } })
  const changes = { timezone: null, input: null, end_time, interrupt_before: ["agent"] }
  await send(old, "PATCH", `/runs/crons/${cron_id}`, changes)
  const kept = await importTo(now, old, "--only", "crons,store")
  const unchanged = await send(now, "GET", "/store/items?namespace=users&key=top")
  const replaced = await importTo(now, old, "--only", "crons,store", "--replace")
  const settled = await importTo(now, old, "--only", "crons,store", "--replace")

  assert.equal(kept.code, 1)
  assert.match(kept.stderr, /users top: the new server has it with another value: .*--replace/)
  assert.match(kept.stderr, /the new server has it with another plan: .*--replace/)
  assert.deepEqual(unchanged.value, value)
  assert.deepEqual(
    [replaced.stdout, settled.stdout],
    [
      "crons: 1 imported, 2 were on the new server already\nstore items: 1 imported, 1 were on the new server already\n",
      "crons: 0 imported, 3 were on the new server already\nstore items: 0 imported, 2 were on the new server already\n",
    ],
    replaced.stderr,
  )
  assert.deepEqual((await send(now, "GET", "/store/items?namespace=users&key=top")).value, { is: "new" })
  assert.ok(await send(now, "GET", "/store/items?namespace=users.ada&key=deep"), "an item that was deleted there stays")
  assert.deepEqual(await cronsIn(now), await pausedOld())

  const started = await importTo(now, old, "--only", "crons", "--enable-crons")

  assert.equal(started.stdout, "crons: 2 imported, 1 were on the new server already\n", started.stderr)
  assert.deepEqual(await cronsIn(now), await cronsIn(old))
})

/** What crons mean, without what each server gives them itself. */
async function cronsIn(server: GraphServer): Promise<Json[]> {
  const found: Json[] = await send(server, "POST", "/runs/crons/search", { sort_by: "created_at", sort_order: "asc" })
  const own = ["cron_id", "created_at", "updated_at", "next_run_date", "metadata", "payload"]
  const meanings = found.map((cron) => {
    const { metadata: _, ...payload } = cron.payload as Json
    const fields = Object.entries(cron).filter(([field]) => !own.includes(field))
    return { ...Object.fromEntries(fields), payload, is: String((cron.metadata as Json).is) }
  })
  return meanings.sort((one, other) => one.is.localeCompare(other.is))
}
