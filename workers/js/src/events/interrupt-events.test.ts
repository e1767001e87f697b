/** W10: an interrupt is sent when it can be read. */
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { FakeServer } from "../testing/fake-server.js"
import { languages } from "../testing/languages.js"

const durabilities = ["sync", "async", "exit"] as const
// A breakpoint has no interrupt value and no write. Python sends it only in `updates`.
const stop = { interrupt_before: ["ask"], stream_modes: ["updates"] }
/** The kinds of frames of a run with an interrupt, in order. */
async function framesOf(on: FakeServer, options: object): Promise<string[]> {
  const modes = { stream_modes: ["updates", "values", "tasks"] }
  const { frame, status } = await on.run("hitl", { input: { x: 0 }, ...modes, ...options })
  assert.equal(status, "interrupted")
  return on.received.flatMap(({ header, payload }) => {
    if (!("claim_id" in header) || header.claim_id !== frame.claim_id) return []
    if (header.type === "event") {
      const { __interrupt__, interrupts } = JSON.parse(payload.data ?? "")
      return __interrupt__ || interrupts?.length > 0 ? [`tells of it: ${header.event}`] : []
    }
    if (header.type !== "call") return []
    const asks = header.method === "checkpoint.put_writes" && header.writes.some((w) => w.channel === "__interrupt__")
    if (asks) return ["saves it"]
    return header.method === "checkpoint.put" ? ["saves a checkpoint"] : []
  })
}

async function tellsLast(on: FakeServer, options: object, events: readonly string[]): Promise<void> {
  const frames = await framesOf(on, options)
  const told = events.map((event) => `tells of it: ${event}`)
  assert.deepEqual(frames.slice(-told.length), told)
  assert.ok(frames.includes("saves a checkpoint"), `${frames}`)
}

async function tellsBeforeFailure(on: FakeServer, durability: (typeof durabilities)[number]): Promise<void> {
  const options = { input: { out: [] }, stream_modes: ["updates", "tasks"], durability }
  const { frame, status } = await on.run("half", options)

  assert.equal(status, "error")
  const asks = on.received.filter(({ header, payload }) => {
    if (header.type !== "event" || header.claim_id !== frame.claim_id) return false
    const { __interrupt__, interrupts } = JSON.parse(payload.data ?? "")
    return __interrupt__ || interrupts?.length > 0
  })
  assert.ok(asks.length > 0, "the interrupt was sent")
}

for (const { name, skip, start } of languages) {
  describe(`in ${name}`, { skip }, () => {
    let server: FakeServer
    before(async () => {
      server = await start("hitl", "half")
    })
    after(() => server?.[Symbol.asyncDispose]())

    for (const durability of durabilities) {
      test(`W10: an interrupt is sent after the writes that caused it are saved (${durability})`, async () => {
        await tellsLast(server, { durability }, ["updates", "values", "tasks"])
        await tellsLast(server, { durability, ...stop }, ["updates"])
      })
    }

    test("W10: an interrupt is sent although another node fails", async () => {
      for (const durability of durabilities) await tellsBeforeFailure(server, durability)
    })
  })
}
