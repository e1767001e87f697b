import assert from "node:assert/strict"
import { test } from "node:test"
import { nextReadMs, readRun, readSpan } from "./read-run.js"
import type { StateInfo } from "./run-data.js"

const place = { threadId: "t1", runId: "r1" }

interface FakeState {
  readonly id: string
  readonly parent?: string
  readonly runId?: string
}

const stateOf = ({ id, parent, runId = "r1" }: FakeState): StateInfo => ({
  values: {},
  next: [],
  checkpoint: { checkpoint_id: id },
  parent_checkpoint: parent === undefined ? null : { checkpoint_id: parent },
  metadata: { source: "loop", run_id: runId },
  created_at: null,
  tasks: [],
})

/** An agent with one run, as far as the page of a run asks it. States are newest first. */
function fakeAgent() {
  const agent = { status: "running", states: [] as FakeState[], events: 0, eventsPage: 1000, asked: [] as string[] }
  const eventsAfter = (after: number) =>
    Array.from({ length: Math.min(agent.events - after - 1, agent.eventsPage) }, (_, n) => ({
      id: String(after + 1 + n),
    }))
  const reply = (path: string, body: { metadata?: unknown; limit?: number; before?: string }): unknown => {
    const { pathname, searchParams } = new URL(path, "http://agent.test")
    if (pathname.endsWith("/trace")) return []
    if (pathname.endsWith("/attempts")) return { attempts: [] }
    if (pathname.endsWith("/events")) return eventsAfter(Number(searchParams.get("after")))
    if (pathname.endsWith("/history")) {
      const found = agent.states.filter(({ runId = "r1" }) => !body.metadata || runId === "r1")
      const start = body.before === undefined ? 0 : found.findIndex(({ id }) => id === body.before) + 1
      return found.slice(start, start + (body.limit ?? 0)).map(stateOf)
    }
    if (pathname.includes("/state/"))
      return agent.states.filter(({ id }) => pathname.endsWith(`/${id}`)).map(stateOf)[0]
    return { run_id: "r1", status: agent.status }
  }
  const fetch = async (path: string, init?: RequestInit) => {
    const body = JSON.parse(String(init?.body ?? "{}")) as object
    agent.asked.push(path + (init?.body ?? ""))
    const found = reply(path, body)
    if (found === undefined) return Response.json({ detail: "no such state" }, { status: 404 })
    const last = path.includes("/events")
      ? Number((found as { id: string }[]).at(-1)?.id ?? agent.events)
      : agent.events
    return Response.json(found, { headers: last < agent.events - 1 ? { "x-pagination-next": String(last) } : {} })
  }
  return { agent, read: (before?: Awaited<ReturnType<typeof readRun>>) => readRun({ fetch } as never, place, before) }
}

const ids = ({ states }: { states: readonly StateInfo[] }) => states.map((state) => state.checkpoint?.checkpoint_id)
const own = (from: number, to: number): FakeState[] =>
  Array.from({ length: from - to }, (_, n) => ({ id: `s${from - n}`, parent: `s${from - n - 1}` }))

test("a running run is read incrementally: new events, new states, and the newest known one", async () => {
  const { agent, read } = fakeAgent()
  agent.states = [...own(30, 0), { id: "s0", runId: "earlier" }]
  agent.events = 3
  const first = await read()
  agent.states = [...own(55, 0), { id: "s0", runId: "earlier" }]
  agent.events = 5
  agent.asked = []

  const second = await read(first)

  assert.deepEqual([ids(first).length, ids(second).length], [31, 56])
  assert.deepEqual([ids(second)[0], ids(second).at(-1)], ["s55", "s0"])
  assert.equal(new Set(ids(second)).size, 56)
  const eventIds = second.events.map(({ id }) => id)
  assert.deepEqual(eventIds, ["0", "1", "2", "3", "4"])
  assert.equal(agent.asked.filter((asked) => asked.includes("/history")).length, 3)
  assert.ok(agent.asked.some((asked) => asked.endsWith("&after=2")))
  assert.ok(!agent.asked.some((asked) => asked.includes("/state/")))
})

test("of very many events a run in flight keeps the newest", async () => {
  const { agent, read } = fakeAgent()
  agent.events = 7000

  const first = await read()
  const { events } = await read(first)

  const bounds = [first.events.length, events.length, events[0]?.id, events.at(-1)?.id]
  assert.deepEqual(bounds, [5000, 5000, "2000", "6999"])
})

test("after the end of a run all of its states are read once more", async () => {
  const { agent, read } = fakeAgent()
  agent.states = own(40, 0)
  const first = await read()
  agent.status = "success"
  agent.asked = []

  const last = await read(first)

  assert.equal(ids(last).length, 40)
  assert.ok(agent.asked.some((asked) => asked.includes('"limit":200')))
})

test("a run without states shows the newest of its thread, and a waiting one shows none", async () => {
  const { agent, read } = fakeAgent()
  agent.states = [
    { id: "s2", runId: "earlier" },
    { id: "s1", runId: "earlier" },
  ]

  assert.deepEqual(ids(await read()), ["s2"])
  agent.status = "pending"
  assert.deepEqual(ids(await read()), [])
})

test("events are read on after a short page, as long as the reply names the next one", async () => {
  const { agent, read } = fakeAgent()
  agent.states = own(2, 0)
  agent.events = 7
  agent.eventsPage = 2

  const { events } = await read()

  const eventIds = events.map(({ id }) => id)
  assert.deepEqual(eventIds, ["0", "1", "2", "3", "4", "5", "6"])
})

const endedAt = Date.UTC(2026, 0, 1)
const over = (fields: { status?: string; nowMs?: number; trace?: { attempt: number; status: string }[] }) =>
  nextReadMs({
    run: { status: fields.status ?? "success", updated_at: new Date(endedAt).toISOString() },
    attempts: {
      attempts: [{ attempt: 1 }, { attempt: 2 }],
      now: new Date(endedAt + (fields.nowMs ?? 100)).toISOString(),
    },
    trace: fields.trace ?? [],
  } as never)

test("a run that has just ended is read again until its last spans are there, and one that ended long ago is not", () => {
  const lost = { attempt: 1, status: "running" }
  const open = [lost, { attempt: 2, status: "running" }]
  const complete = [lost, { attempt: 2, status: "success" }]

  assert.ok(over({ status: "running", trace: complete }))
  assert.ok(over({ trace: [lost] }))
  assert.ok(over({ trace: open }))
  assert.equal(over({ trace: complete }), false)
  assert.equal(over({ trace: open, nowMs: 60_000 }), false)
  assert.equal(over({ nowMs: 60_000 }), false)
})

test("a span that is not kept any more is not taken for the next one", async () => {
  const kept = [{ id: "5" }, { id: "7" }]
  const fetch = async (path: string) => {
    const after = Number(new URL(path, "http://agent.test").searchParams.get("after"))
    return Response.json(kept.filter(({ id }) => Number(id) > after).slice(0, 1))
  }
  const read = (id: string) => readSpan({ fetch } as never, place, id)

  assert.deepEqual([await read("5"), await read("6"), await read("8")], [{ id: "5" }, null, null])
})
