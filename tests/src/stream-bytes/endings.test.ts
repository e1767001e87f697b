/** How streams end: failure, interrupt, breakpoint, cancel (agent-server API §7.3, §7.5, §7.9). */

import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { graphServerForAll } from "../testing/graph-server.js"
import { graphLanguages } from "../testing/languages.js"
import { type RawEvent, RawStream } from "../testing/raw-stream.js"

const stackOf = {
  JavaScript: /^TypeError: node exploded\n {4}at .*src\/error\.ts/,
  Python: /^Traceback [\s\S]*\/error\.py", line \d+, in boom\n[\s\S]*TypeError: node exploded/,
}

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    const server = graphServerForAll(env)

    const named = (events: readonly RawEvent[], name: string) =>
      events.filter(({ event }) => event === name).map(({ data }) => data)

    async function opened(body: object, threadId?: string): Promise<RawStream & { readonly threadId: string }> {
      const thread_id = threadId ?? (await server.client.threads.create()).thread_id
      const stream = await RawStream.open(server, { path: `/threads/${thread_id}/runs/stream`, body })
      return Object.assign(stream, { threadId: thread_id })
    }

    async function run(body: object, threadId?: string) {
      const stream = await opened(body, threadId)
      await stream.ended()
      return stream
    }

    test("a node that throws: its error is the last event but one, and its stack is in the log alone", async () => {
      const { events, body } = await run({ assistant_id: "error", input: { x: 1 }, stream_mode: ["values", "updates"] })

      assert.deepEqual(fieldsOf(events, "event"), ["metadata", "values", "updates", "values", "error", "end"])
      assert.deepEqual(named(events, "error"), [{ error: "TypeError", message: "node exploded" }])
      assert.equal(named(events, "end")[0].status, "error")
      assert.doesNotMatch(body, /error\.(ts|py)/)
      const line = server
        .log()
        .split("\n")
        .filter((each) => each.includes('"run ended"'))
        .map((each) => JSON.parse(each))
        .find(({ run_id }) => run_id === named(events, "end")[0].run_id)
      assert.equal(line.level, "error")
      assert.match(line.stack, stackOf[language])
    })

    test("an interrupt is told on every mode that has states or updates, then the stream ends", async () => {
      const question = { question: "continue?" }

      const both = await run({ assistant_id: "hitl", input: { x: 1 }, stream_mode: ["values", "updates"] })
      const values = await run({ assistant_id: "hitl", input: { x: 1 }, stream_mode: "values" })
      const updates = await run({ assistant_id: "hitl", input: { x: 1 }, stream_mode: "updates" })

      assert.deepEqual(both.names, ["metadata", "values", "updates", "values", "end"])
      assert.deepEqual(values.names, ["metadata", "values", "values", "end"])
      assert.deepEqual(updates.names, ["metadata", "updates", "end"])
      for (const { events } of [both, values, updates]) {
        const told = events.filter(({ data }) => "__interrupt__" in data).map(({ data }) => data.__interrupt__)
        for (const interrupts of told) {
          assert.match(interrupts[0].id, /^[0-9a-f]{32}$/)
          assert.deepEqual(interrupts, [{ id: interrupts[0].id, value: question }])
        }
        assert.equal(told.length, events === both.events ? 2 : told.length)
        assert.equal(named(events, "end")[0].status, "interrupted")
      }
    })

    test("a run that answers an interrupt begins with the state as it is", async () => {
      const asked = await run({ assistant_id: "hitl", input: { x: 1 }, stream_mode: "values" })

      const { events } = await run(
        { assistant_id: "hitl", command: { resume: "yes" }, stream_mode: ["values", "updates"] },
        asked.threadId,
      )

      assert.deepEqual(named(events, "values"), [{ x: 1 }, { x: 1, y: "yes" }, { x: 4, y: "yes" }])
      assert.deepEqual(named(events, "updates"), [{ ask: { y: "yes" } }, { after: { x: 4 } }])
      assert.equal(named(events, "end")[0].status, "success")
    })

    test("a breakpoint is an interrupt with no question in it", async () => {
      const { events } = await run({
        assistant_id: "error",
        input: { x: 1 },
        stream_mode: ["values", "updates"],
        interrupt_before: ["boom"],
      })

      assert.deepEqual(fieldsOf(events.slice(1, -1), "event", "data"), [
        ["values", { x: 1 }],
        ["updates", { ok: { x: 2 } }],
        ["values", { x: 2 }],
        ["updates", { __interrupt__: [] }],
        // LangGraph for Python tells a breakpoint only there.
        ...(language === "JavaScript" ? [["values", { __interrupt__: [] }]] : []),
      ])
      assert.equal(named(events, "end")[0].status, "interrupted")
    })

    for (const [action, status] of [
      ["interrupt", "interrupted"],
      ["rollback", "rollback"],
    ] as const) {
      test(`a run that is cancelled by ${action} ends its stream without an error`, async () => {
        const body = { assistant_id: "slow", input: { n: 0 }, stream_mode: "custom" }
        const stream = await opened({ ...body, config: { configurable: { tick_ms: 60_000 } } })
        const { threadId } = stream
        await until(() => stream.names.includes("custom"), { what: "the run is in its node" })
        const { run_id } = named(stream.events, "metadata")[0]

        await server.client.runs.cancel(threadId, run_id, false, action)
        await stream.ended()

        assert.deepEqual(stream.names, ["metadata", "custom", "end"])
        assert.deepEqual(named(stream.events, "end"), [{ run_id, status }])
      })
    }
  })
}
