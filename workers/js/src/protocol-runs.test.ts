/** Runs with protocol events, in both languages. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { inBothLanguages } from "./testing/languages.js"
import { normalised, type StreamEvent } from "./testing/recording.js"
import { isSince } from "./testing/worker.js"

const isProtocol = ({ event }: StreamEvent) => event.startsWith("protocol:")

inBothLanguages(["nested", "agent", "deep", "hitl"], ({ name, server }) => {
  for (const stream_subgraphs of [false, true]) {
    const where = stream_subgraphs ? "with subgraphs" : "of the root only"
    test(`protocol events change nothing in a run's other events, ${where}`, async () => {
      const asked = {
        input: { log: ["s"] },
        stream_modes: ["values", "updates", "custom", "tasks"],
        stream_subgraphs,
      }

      const plain = await server().run("nested", asked)
      const both = await server().run("nested", { ...asked, protocol_events: true })

      const own = both.events.filter((event) => !isProtocol(event))
      assert.deepEqual(own.map(normalised), plain.events.map(normalised))
      assert.equal(plain.events.some(isProtocol), false)
      assert.ok(both.events.some(({ event }) => event.startsWith("protocol:values|sub:")))
    })
  }

  test(`the older mode \`events\` goes together with protocol events`, async () => {
    const input = { messages: [{ role: "user", content: "hello" }] }

    const { events } = await server().run("agent", { input, stream_modes: ["events"], protocol_events: true })

    const names = new Set(events.map(({ event }) => event.split("|")[0]))
    assert.ok(["events", "protocol:messages", "protocol:tools", "protocol:values"].every((each) => names.has(each)))
    const kinds = events.flatMap(({ event, data }) => (event === "events" ? [Object(data).event] : []))
    assert.equal(kinds[0], "on_chain_start")
    assert.ok(kinds.includes("on_chat_model_stream"))
  })

  test(`W10: input is requested after the writes that led to it, in the subgraph's namespace`, async () => {
    const { status, frame, events } = await server().run("deep", { input: { x: 0 }, protocol_events: true })

    assert.equal(status, "interrupted")
    const requests = events.filter(({ event }) => event.startsWith("protocol:input.requested"))
    assert.equal(requests.length, 1)
    assert.match(requests[0]?.event ?? "", /^protocol:input.requested\|[^|]+$/)
    const order = server().received.flatMap(({ header }) => {
      if (header.type === "event" && header.claim_id === frame.claim_id) return [header.event.split("|")[0]]
      const saves =
        header.type === "call" && header.method === "checkpoint.put_writes" && header.claim_id === frame.claim_id
      return saves && header.writes.some(({ channel }) => channel === "__interrupt__") ? ["saves"] : []
    })
    assert.ok(order.includes("saves"))
    assert.ok(order.indexOf("saves") < order.indexOf("protocol:input.requested"), `${order}`)
  })

  const reason = name === "JavaScript" && !isSince("1.7.0") && "LangGraph has no strict answers before 1.7"
  test(`an answer to an unknown interrupt is refused in strict mode, with the ids`, { skip: reason }, async () => {
    const { frame, interrupts } = await server().run("hitl", { input: { x: 0 } })
    const [pending] = Object.values(interrupts as Record<string, { id: string }[]>).flat()
    const unknown = "0".repeat(32)

    const config = { configurable: { __pregel_strict_resume: true } }
    const command = { resume: { [unknown]: "yes" } }
    const { status, error } = await server().run("hitl", { thread_id: frame.thread_id, command, config })

    const { message: _, ...told } = error ?? { message: "" }
    assert.equal(status, "error")
    assert.deepEqual(told, {
      error: "UnknownInterruptError",
      reason: "not_pending",
      interrupt_ids: [unknown],
      pending_ids: [pending?.id],
    })
  })
})
