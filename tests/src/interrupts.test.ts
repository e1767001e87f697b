/** Graphs that wait for a person, as the official client sees them between the questions. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { describe, test } from "node:test"
import { personHeader } from "@superstep/protocol/http/own-headers"
import { personText } from "@superstep/protocol/http/person"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { serverForAll } from "./testing/agent-servers.js"
import { ask } from "./testing/ask.js"
import { graphLanguages } from "./testing/languages.js"

const ann = { person_id: randomUUID(), name: "Ann Ångström", email: "ann@example.com" }

/** An answer as `GET /threads/{thread_id}/answers` lists it. */
interface Answer {
  readonly run_id: string
  readonly interrupts: Readonly<Record<string, readonly { readonly value: unknown }[]>>
  readonly resume: unknown
  readonly answered_at: string
  readonly person: object | null
  readonly status: string
}

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
      const say = async (payload: object) => (await client.runs.wait(thread_id, "twice", payload)) as Waiting
      const questions = ({ __interrupt__ }: Waiting) => __interrupt__?.map(({ value }) => value)
      const threadStatus = async () => (await client.threads.get(thread_id)).status

      const first = await say({ input: { out: [] } })
      const second = await say({ command: { resume: "A" } })
      const statusBetween = await threadStatus()
      const [run] = await client.runs.list(thread_id)
      const end = await say({ command: { resume: "B" } })

      assert.deepEqual([questions(first), questions(second)], [[{ q: "first?" }], [{ q: "second?" }]])
      assert.deepEqual([statusBetween, run?.status], ["interrupted", "interrupted"])
      assert.deepEqual([end.out, questions(end), await threadStatus()], [["A, B"], undefined, "idle"])
    })

    const answersOf = async (threadId: string) => (await ask(server, `/threads/${threadId}/answers`)).body as Answer[]

    test("who answered, what and when stay with the question, also of two at once and of a subgraph", async () => {
      const { client } = server
      const kinds: readonly (readonly [
        graphId: string,
        input: Record<string, unknown>,
        resumeOf: (ids: readonly string[]) => unknown,
      ])[] = [
        ["hitl", { x: 0 }, () => "yes"],
        ["deep", { x: 0 }, () => ({ approved: true })],
        ["hitl2", { out: [] }, (ids) => Object.fromEntries(ids.map((id, n) => [id, `answer ${n}`]))],
      ]
      for (const [graphId, input, resumeOf] of kinds) {
        const { thread_id } = await client.threads.create()
        await client.runs.wait(thread_id, graphId, { input })
        const { tasks } = await client.threads.getState(thread_id)
        const asked = tasks.filter(({ interrupts }) => interrupts.length > 0)
        const resume = resumeOf(asked.flatMap(({ interrupts }) => interrupts.map(({ id }) => id ?? "")))

        const body = JSON.stringify({ assistant_id: graphId, command: { resume } })
        const headers = { "content-type": "application/json", [personHeader]: personText(ann) }
        const reply = await ask(server, `/threads/${thread_id}/runs/wait`, { method: "POST", headers, body })
        assert.equal(reply.status, 200, JSON.stringify(reply.body))

        const [answer, ...others] = await answersOf(thread_id)
        const [run] = await client.runs.list(thread_id)
        assert.deepEqual([answer?.person, answer?.resume, answer?.status], [ann, resume, "success"])
        assert.equal(answer?.run_id, run?.run_id)
        const questions = Object.entries(answer?.interrupts ?? {}).map(([id, its]) => [id, fieldsOf(its, "value")])
        const wanted = asked.map(({ id, interrupts }) => [id, fieldsOf(interrupts, "value")])
        assert.deepEqual(Object.fromEntries(questions), Object.fromEntries(wanted))
        assert.ok(Date.parse(answer?.answered_at ?? "") >= Date.parse(run?.created_at ?? ""), answer?.answered_at)
        assert.deepEqual(others, [])
      }
    })

    test("a breakpoint at a node of a nested graph stops nothing: LangGraph stops at nodes of the graph that is run", async () => {
      const { client } = server
      const run = async (nodes: string[]) => {
        const { thread_id } = await client.threads.create()
        await client.runs.wait(thread_id, "nested", { input: { log: [] }, interruptBefore: nodes })
        return (await client.threads.getState(thread_id)).next
      }

      assert.deepEqual([await run(["sub"]), await run(["inner", "sub:inner", "sub|inner"])], [["sub"], []])
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
        const askAgain = async () => {
          await client.runs.wait(thread_id, graphId, { input: { x: 0 } })
          const { checkpoint, tasks } = await client.threads.getState(thread_id)
          return { checkpointId: checkpoint.checkpoint_id ?? "", tasks: tasks.map(({ id }) => id) }
        }
        const first = await askAgain()
        await answer("1")
        const second = await askAgain()
        await answer("2", first.checkpointId)
        const third = await askAgain()
        await answer("3", third.checkpointId)
        await answer("4", second.checkpointId)

        const kept = (await answersOf(thread_id)).map(({ resume, interrupts }) => [resume, Object.keys(interrupts)])
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
