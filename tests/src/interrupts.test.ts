/** Graphs that wait for a person, as the official client sees them between the questions. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { serverForAll } from "./testing/agent-servers.js"
import { graphLanguages } from "./testing/languages.js"

interface Waiting {
  readonly __interrupt__?: readonly { readonly value: unknown }[]
  readonly out?: readonly string[]
}

const rounds = runsWideTests ? 8 : 2

const askingGraphs = [
  { name: "a node that asks", graphId: "hitl", options: {}, tasks: [["ask", [{ question: "continue?" }]]] },
  { name: "a node of a subgraph", graphId: "deep", options: {}, tasks: [["sub", [{ question: "continue?" }]]] },
  { name: "a breakpoint", graphId: "hitl", options: { interruptBefore: ["ask"] }, tasks: [["ask", []]] },
]

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    const server = serverForAll({ env })

    describe("who hears of an interrupt reads it in the state at once", () => {
      for (const durability of ["sync", "async", "exit"] as const) {
        for (const { name, graphId, options, tasks: expected } of askingGraphs) {
          test(`${name}, ${durability}`, async () => {
            const { client } = server
            const states = []
            for (let round = 0; round < rounds; round++) {
              const { thread_id } = await client.threads.create()
              const run = { ...options, input: { x: 0 }, streamMode: "updates", durability } as const
              for await (const { data } of client.runs.stream(thread_id, graphId, run)) {
                if ("__interrupt__" in (data as object)) states.push(await client.threads.getState(thread_id))
              }
            }

            for (const { next, tasks } of states) {
              const seen = tasks.map((task) => [task.name, task.interrupts.map(({ value }) => value)])
              assert.deepEqual([next, seen], [expected.map(([node]) => node), expected])
            }
            assert.equal(states.length, rounds)
          })
        }
      }
    })

    test("a node that asks twice waits twice", async () => {
      const { client } = server
      const { thread_id } = await client.threads.create()
      const ask = async (payload: object) => (await client.runs.wait(thread_id, "twice", payload)) as Waiting
      const questions = ({ __interrupt__ }: Waiting) => __interrupt__?.map(({ value }) => value)
      const threadStatus = async () => (await client.threads.get(thread_id)).status

      const first = await ask({ input: { out: [] } })
      const second = await ask({ command: { resume: "A" } })
      const statusBetween = await threadStatus()
      const [run] = await client.runs.list(thread_id)
      const end = await ask({ command: { resume: "B" } })

      assert.deepEqual([questions(first), questions(second)], [[{ q: "first?" }], [{ q: "second?" }]])
      assert.deepEqual([statusBetween, run?.status], ["interrupted", "interrupted"])
      assert.deepEqual([end.out, questions(end), await threadStatus()], [["A, B"], undefined, "idle"])
    })

    for (const graphId of ["hitl", "deep"]) {
      test(`an answer from an older checkpoint stays with the question that was asked there, ${graphId}`, async () => {
        const { client } = server
        const { thread_id } = await client.threads.create()
        const answer = (resume: string, checkpointId?: string) =>
          client.runs.wait(thread_id, graphId, {
            command: { resume },
            multitaskStrategy: "reject",
            ...(checkpointId !== undefined && { checkpointId }),
          })
        const ask = async () => {
          await client.runs.wait(thread_id, graphId, { input: { x: 0 } })
          const { checkpoint, tasks } = await client.threads.getState(thread_id)
          return { checkpointId: checkpoint.checkpoint_id ?? "", tasks: tasks.map(({ id }) => id) }
        }
        const first = await ask()
        await answer("1")
        const second = await ask()
        await answer("2", first.checkpointId)
        const third = await ask()
        await answer("3", third.checkpointId)
        await answer("4", second.checkpointId)

        const reply = await fetch(`${server.url}/threads/${thread_id}/answers`, { headers: server.headers })
        const answers = (await reply.json()) as { resume: string; interrupts: object }[]
        const kept = answers.map(({ resume, interrupts }) => [resume, Object.keys(interrupts)])
        // The second question had no answer before: what was asked there is not known any more.
        assert.deepEqual(kept, [
          ["3", third.tasks],
          ["2", first.tasks],
          ["1", first.tasks],
        ])
      })
    }
  })
}
