/** Each mode says the same alone as among all others, and checkpoints are told as the history tells them. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import type { ThreadState } from "@langchain/langgraph-sdk"
import { isRecord } from "@superstep/protocol/worker/validate"
import { byName, normalised, type StreamEvent } from "@superstep/worker-js/testing/recording"
import { isSince } from "@superstep/worker-js/testing/worker"
import { graphServerForAll } from "../testing/graph-server.js"
import { graphLanguages } from "../testing/languages.js"
import { parseStrictly, type RawEvent, RawStream } from "../testing/raw-stream.js"

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    const server = graphServerForAll(env)

    const eventOf: Readonly<Record<string, RegExp>> = {
      values: /^values(\||$)/,
      updates: /^updates(\||$)/,
      custom: /^custom(\||$)/,
      debug: /^debug(\||$)/,
      tasks: /^tasks(\||$)/,
      checkpoints: /^checkpoints(\||$)/,
      tools: /^tools(\||$)/,
      "messages-tuple": /^messages(\||$)/,
      messages: /^messages\//,
      events: /^events$/,
    }
    const modes = Object.keys(eventOf)

    const inputs: Readonly<Record<string, object>> = {
      agent: { messages: [{ role: "user", content: "What is 1 + 2?" }] },
      nested: { log: [] },
    }

    async function streamed(graphId: string, stream_mode: readonly string[], options: object = {}) {
      const { thread_id } = await server.client.threads.create()
      const body = { assistant_id: graphId, input: inputs[graphId], stream_mode, ...options }
      const stream = await RawStream.open(server, { path: `/threads/${thread_id}/runs/stream`, body })
      return { threadId: thread_id, events: parseStrictly(await stream.ended()) }
    }

    /**
     * Without what differs from run to run: whoever listens to messages gives a tool's message its id, else the state does. Since
     * LangGraph 1.5 the state keeps a copy, so a model's message shows in `updates` without an id when nobody listens.
     */
    function told(events: readonly RawEvent[], of: RegExp): StreamEvent[] {
      const types = isSince("1.5.0") ? ["tool", "ai"] : ["tool"]
      const withoutId = (_key: string, value: unknown) =>
        isRecord(value) && types.includes(String(value.type)) ? { ...value, id: undefined } : value
      const told = events
        .filter(({ event }) => of.test(event))
        .map((event) => JSON.stringify(normalised(event), withoutId))
      return told.map((text) => JSON.parse(text))
    }

    for (const [graphId, stream_subgraphs] of [
      ["agent", false],
      ["nested", true],
    ] as const) {
      test(`of ${graphId}, each mode is alone as in company`, async () => {
        // `streamEvents` carries the older messages and raw events: its models stream, so it is in both or in none.
        for (const carried of [modes.filter((mode) => mode !== "messages" && mode !== "events"), modes]) {
          const company = await streamed(graphId, carried, { stream_subgraphs })

          for (const mode of carried) {
            const alone = await streamed(graphId, carried === modes ? [mode, "messages"] : [mode], { stream_subgraphs })
            const of = eventOf[mode] ?? /^$/
            const names = alone.events.map(({ event }) => event).filter((name) => !/^(metadata|error|end)$/.test(name))

            assert.deepEqual(byName(told(alone.events, of)), byName(told(company.events, of)), mode)
            const others = names.filter((name) => !of.test(name) && !(carried === modes && /^messages\//.test(name)))
            assert.deepEqual(others, [])
          }
        }
      })
    }

    test("with messages and values, the last event before the end is messages/complete", async () => {
      const { events } = await streamed("agent", ["messages", "values"])

      assert.equal(events.at(-2)?.event, "messages/complete")
      assert.equal(events.findLast(({ event }) => event === "values")?.id, String(Number(events.at(-2)?.id) - 1))
    })

    for (const mode of ["checkpoints", "debug"] as const) {
      test(`a ${mode} event names its checkpoint and its parent as the history does, in a subgraph too`, async () => {
        const { threadId, events } = await streamed("nested", [mode], { stream_subgraphs: true })
        const names = [...new Set(events.map(({ event }) => event).filter((name) => name.startsWith(mode)))]
        assert.equal(names.length, 2)

        for (const name of names) {
          const payloads = events.flatMap(({ event, data }) =>
            event !== name ? [] : mode === "checkpoints" ? [data] : data.type === "checkpoint" ? [data.payload] : [],
          )
          const checkpoint = { thread_id: threadId, checkpoint_ns: name.slice(mode.length + 1) }

          const history = await server.client.threads.getHistory(threadId, { checkpoint })

          assert.ok(payloads.length > 1)
          assert.deepEqual(payloads.map(placeOf), history.map(placeOf).reverse())
          for (const { config, parent_config, parent_checkpoint } of payloads) {
            assert.equal((parent_config ?? null) === null, parent_checkpoint === null)
            for (const each of [config, parent_config ?? {}]) {
              assert.equal("callbacks" in each, false)
              const internal = Object.keys(each.configurable ?? {}).filter((key) => key.startsWith("__"))
              assert.deepEqual(internal, [])
            }
          }
        }
      })
    }

    /**
     * What an event and an item of the history must agree on. In a subgraph LangGraph's history adds the checkpoint itself to
     * the map of its ancestors, and its events do not (recording `subgraphs-debug`).
     */
    function placeOf({ values, next, metadata, checkpoint, parent_checkpoint }: ThreadState) {
      const [own, parent] = [checkpoint, parent_checkpoint].map((ref) =>
        ref?.checkpoint_ns ? { ...ref, checkpoint_map: "of ancestors" } : ref,
      )
      return { values, next, own, parent, source: metadata?.source, step: metadata?.step }
    }
  })
}
