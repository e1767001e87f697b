/** W10: an interrupt is sent when it can be read. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { FakeServer } from "../testing/fake-server.js"
import { inBothLanguages } from "../testing/languages.js"

const durabilities = ["sync", "async", "exit"] as const
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

inBothLanguages(["half", "outages"], ({ server }) => {
  test("W10: a state key or a custom field that is named like interrupts does not wait for the end", async () => {
    const stream_modes = ["values", "updates", "custom"]
    const order = { input: { interrupts: ["net"] }, durability: "exit", protocol_events: true, stream_modes } as const

    const { events } = await server().run("outages", order)

    const inOrder = ["values", "custom", "updates", "values", "updates", "values"]
    const names = events.map(({ event }) => event)
    assert.deepEqual(
      names.filter((name) => !name.startsWith("protocol:")),
      inOrder,
    )
    assert.deepEqual(
      names.filter((name) => inOrder.includes(name.replace("protocol:", "")) && name.startsWith("protocol:")),
      inOrder.map((name) => `protocol:${name}`),
    )
  })

  test("W10: an interrupt is sent although another node fails", async () => {
    for (const durability of durabilities) await tellsBeforeFailure(server(), durability)
  })
})
