/** Interrupts and their answers, repeated attempts, and the server's calls about a thread. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { isDeepStrictEqual } from "node:util"
import type { WorkerCall } from "@superstep/protocol/worker/frames"
import { inBothLanguages } from "../testing/languages.js"

const nullTask = "00000000-0000-0000-0000-000000000000"
const questions = ["hitl", "hitl2", "chain", "deep_chain", "twice"]

inBothLanguages(["chat", ...questions, "error", "nested", "slow", "builder"], ({ name, server }) => {
  const isPython = name === "Python"

  for (const [breakpoint, next] of [
    [{ interrupt_before: ["first"] }, ["first"]],
    [{ interrupt_before: ["sub"] }, ["sub"]],
    [{ interrupt_after: ["first"] }, ["sub"]],
    [{ interrupt_after: "*" }, ["sub"]],
  ] as const)
    test(`a repeated attempt stops again at the breakpoint ${JSON.stringify(breakpoint)}`, async () => {
      const order = {
        thread_id: crypto.randomUUID(),
        run_id: crypto.randomUUID(),
        input: { log: [] },
        stream_modes: ["values", "updates"],
        ...breakpoint,
      }
      const first = await server().run("nested", order)

      const second = await server().run("nested", { ...order, attempt: 2 })
      const end = await server().run("nested", { thread_id: order.thread_id })

      // LangGraph for Python reports a breakpoint only on `updates`.
      const reports = [{ __interrupt__: [] }, ...(isPython ? [] : [{ __interrupt__: [] }])]
      for (const each of [first, second]) {
        assert.deepEqual([each.status, each.next, each.values], ["interrupted", next, first.values])
        const told = each.events.map(({ data }) => data).slice(-1 - reports.length)
        assert.deepEqual(told, [first.values, ...reports])
      }
      assert.equal(second.events.length, 1 + reports.length)
      assert.deepEqual([end.status, Object(end.values).log], ["success", ["first", "first", "inner"]])
    })

  for (const answer of ["yes", false, 0, "", null, { a: 1 }]) {
    test(`the answer ${JSON.stringify(answer)} reaches the node`, async () => {
      const thread_id = crypto.randomUUID()
      await server().run("hitl", { thread_id, input: { x: 0 } })

      const { status, values } = await server().run("hitl", { thread_id, command: { resume: answer } })

      assert.equal(status, "success")
      assert.equal(Object(values).y, String(answer))
    })
  }

  test("of two parallel interrupts, an answered one is no longer open", async () => {
    const thread_id = crypto.randomUUID()
    const asked = await server().run("hitl2", { thread_id, input: { out: [] } })
    const [first = "", second = ""] = Object.values(Object(asked.interrupts)).flat().map(id)

    const between = await server().run("hitl2", { thread_id, command: { resume: { [first]: "A" } } })
    const state = Object(await ask("graph.state", { graph_id: "hitl2", thread_id, subgraphs: false }))
    const [newest] = await history("hitl2", thread_id)
    // The oldest open interrupt gets it. The answered one is no longer open.
    const end = await server().run("hitl2", { thread_id, command: { resume: null } })

    assert.equal(between.status, "interrupted")
    assert.deepEqual(Object.values(Object(between.interrupts)).flat().map(id), [second])
    for (const told of [state, Object(newest)]) {
      assert.deepEqual(told.interrupts.map(id), [second])
      const open = told.tasks.map(({ interrupts }: { interrupts: unknown[] }) => interrupts.map(id))
      assert.deepEqual(open, [[], [second]])
      assert.deepEqual(told.tasks[0].result, { out: ["a:A"] })
    }
    assert.deepEqual([end.status, end.values], ["success", { out: ["a:A", "b:null"] }])
  })

  test("a command can change the state and choose the next nodes, with an input for each", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("builder", { thread_id, input: { n: 1 } })

    const updated = await server().run("builder", { thread_id, command: { update: { n: 10 }, goto: "plus" } })
    const sent = await server().run("builder", {
      thread_id,
      command: { goto: { node: "plus", input: { n: 40 } }, resume: null },
    })
    const pairs = await server().run("builder", { thread_id, command: { update: [["n", 7]], goto: ["plus"] } })

    const values = [updated, sent, pairs].map(({ values }) => values)
    assert.deepEqual(values, [{ n: 11 }, { n: 41 }, { n: 8 }])
  })

  test("a run from an earlier checkpoint forks the thread", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("slow", { thread_id, input: { n: 3 }, config: { configurable: { tick_ms: 0 } } })
    const states = await history("slow", thread_id)
    const earlier = states.find(({ values }) => Object(values).n === 4)

    const { events, values } = await server().run("slow", {
      thread_id,
      config: { configurable: { tick_ms: 0, checkpoint_id: checkpointId(earlier) } },
      stream_modes: ["values", "checkpoints"],
    })

    assert.deepEqual(events.find(({ event }) => event === "values")?.data, { n: 4 })
    assert.equal(Object(events.find(({ event }) => event === "checkpoints")?.data).metadata.source, "fork")
    assert.deepEqual(values, { n: 5 })
  })

  test("a repeated attempt continues from its checkpoint and applies its input once", async () => {
    const order = { thread_id: crypto.randomUUID(), run_id: crypto.randomUUID(), input: { n: 0 } }
    const first = server().startRun("slow", { ...order, config: { configurable: { tick_ms: 20 } } })
    await server().frame(({ header, payload }) => isValues(header, first.claim_id) && payload.data === '{"n":2}')
    server().send({ type: "cancel", run_id: first.run_id, claim_id: first.claim_id })
    const { values: reached } = await server().done(first)

    const second = await server().run("slow", { ...order, attempt: 2, config: { configurable: { tick_ms: 0 } } })

    // What a task has written is part of the state that was reached, also when the checkpoint of its step was not saved yet.
    const begun = second.events.slice(0, 2).map(({ data }) => data)
    assert.ok(
      begun.some((data) => isDeepStrictEqual(data, reached)),
      JSON.stringify({ begun, reached }),
    )
    assert.deepEqual(second.values, { n: 5 })
  })

  test("a repeated attempt does not answer the next interrupt with the previous answer", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("chain", { thread_id, input: { out: [] } })
    const order = { thread_id, run_id: crypto.randomUUID(), command: { resume: "A" } }
    const first = await server().run("chain", order)

    const second = await server().run("chain", { ...order, attempt: 2 })

    for (const { status, values, next } of [first, second]) {
      assert.deepEqual({ status, values, next }, { status: "interrupted", values: { out: ["a:A"] }, next: ["b"] })
    }
  })

  test("a repeated attempt does not answer the next question of a subgraph", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("deep_chain", { thread_id, input: { out: [] } })
    const order = { thread_id, run_id: crypto.randomUUID(), command: { resume: "A" }, stream_subgraphs: true }
    const modes = { stream_modes: ["custom"] }
    const first = server().startRun("deep_chain", {
      ...order,
      ...modes,
      config: { configurable: { pause_ms: 60_000 } },
    })
    await server().frame(({ header }) => header.type === "event" && header.claim_id === first.claim_id)
    server().send({ type: "cancel", run_id: first.run_id, claim_id: first.claim_id })
    await server().done(first)

    const config = { configurable: { pause_ms: 0 } }
    const second = await server().run("deep_chain", { ...order, attempt: 2, config })
    const end = await server().run("deep_chain", { thread_id, command: { resume: "B" }, config })

    assert.deepEqual([second.status, openQuestions(second)], ["interrupted", [{ q: "b?" }]])
    assert.deepEqual(end.values, { out: ["a:A", "pause", "b:B"] })
  })

  for (const [form, resume] of [
    ["an answer", (_: string) => "A"],
    ["an answer by id", (id: string) => ({ [id]: "A" })],
  ] as const) {
    test(`a repeated attempt does not give ${form} to the next question of its node`, async () => {
      const thread_id = crypto.randomUUID()
      const asked = await server().run("twice", { thread_id, input: { out: [] } })
      const [first = ""] = Object.values(Object(asked.interrupts)).flat().map(id)
      const order = { thread_id, run_id: crypto.randomUUID(), command: { resume: resume(first) } }
      const answered = await server().run("twice", order)

      const again = await server().run("twice", { ...order, attempt: 2 })
      const nothing = await server().run("twice", { thread_id })
      const end = await server().run("twice", { thread_id, command: { resume: "B" } })

      for (const each of [answered, again, nothing])
        assert.deepEqual([each.status, openQuestions(each)], ["interrupted", [{ q: "second?" }]])
      assert.deepEqual(end.values, { out: ["A, B"] })
    })
  }

  const update = { out: ["u"] }
  for (const [does, command, out, asked] of [
    ["update", () => ({ update }), ["u"], ["a?"]],
    ["update and answer", () => ({ update, resume: "A" }), ["u", "a:A"], ["b?"]],
    ["update and answer by id", (id: string) => ({ update, resume: { [id]: "A" } }), ["u", "a:A"], ["b?"]],
    ["update and nodes", () => ({ update, goto: [{ node: "b", input: { out: [] } }] }), ["u"], ["a?", "b?"]],
  ] as const)
    for (const saved of ["nothing", "the command's writes"]) {
      test(`what a command does happens once: ${does}, if the first attempt has saved ${saved}`, async () => {
        const thread_id = crypto.randomUUID()
        const { interrupts } = await server().run("chain", { thread_id, input: { out: [] } })
        const [first = ""] = Object.values(Object(interrupts)).flat().map(id)
        const [run_id, claim_id] = [crypto.randomUUID(), crypto.randomUUID()]
        const order = { thread_id, run_id, command: command(first), stream_modes: ["updates"] }
        server().refuse = (call) => {
          const isSaved = !call.method.startsWith("checkpoint.put") || isOfCommand(call, first)
          const isRefused = "claim_id" in call && call.claim_id === claim_id && (!isSaved || saved === "nothing")
          return isRefused ? { error: "Lost", message: "the worker dies" } : undefined
        }
        await server().run("chain", { ...order, claim_id })
        server().refuse = () => undefined

        const second = await server().run("chain", { ...order, attempt: 2 })
        const third = await server().run("chain", { ...order, attempt: 3 })

        for (const each of [second, third])
          assert.deepEqual([each.status, each.values, askedBy(each).sort()], ["interrupted", { out }, asked])
      })
    }

  test("a command's update takes effect once if a subgraph has got its answer", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("deep_chain", { thread_id, input: { out: [] } })
    const order = { thread_id, run_id: crypto.randomUUID(), command: { update, resume: "A" }, stream_subgraphs: true }
    const first = server().startRun("deep_chain", {
      ...order,
      stream_modes: ["custom"],
      config: { configurable: { pause_ms: 60_000 } },
    })
    await server().frame(({ header }) => header.type === "event" && header.claim_id === first.claim_id)
    server().send({ type: "cancel", run_id: first.run_id, claim_id: first.claim_id })
    await server().done(first)

    const second = await server().run("deep_chain", { ...order, attempt: 2, config: { configurable: { pause_ms: 0 } } })

    assert.deepEqual([second.values, openQuestions(second)], [update, [{ q: "b?" }]])
  })

  test("a thread's state has its wire format", async () => {
    const { frame } = await server().run("hitl", {
      input: { x: 0 },
      config: { configurable: { "user-agent": "me" } },
    })
    const { thread_id } = frame

    const state = Object(await ask("graph.state", { graph_id: "hitl", thread_id, subgraphs: false }))

    assert.deepEqual(state.values, { x: 0 })
    assert.deepEqual(state.next, ["ask"])
    const [task] = state.tasks
    const { id: _, interrupts, ...rest } = task
    assert.deepEqual(rest, {
      name: "ask",
      error: null,
      path: ["__pregel_pull", "ask"],
      checkpoint: null,
      state: null,
      result: null,
    })
    assert.deepEqual(interrupts.map(question), [{ question: "continue?" }])
    assert.deepEqual(state.interrupts, interrupts)
    assert.equal(state.metadata["user-agent"], "me")
    assert.equal(state.metadata.run_id, frame.run_id)
    assert.match(state.created_at, isPython ? /^\d{4}-.*\+00:00$/ : /^\d{4}-.*Z$/)
    const { checkpoint_id, ...place } = state.checkpoint
    assert.deepEqual(place, { thread_id, checkpoint_ns: "", checkpoint_map: null })
    assert.ok(state.parent_checkpoint.checkpoint_id < checkpoint_id)
  })

  test("a thread without checkpoints has an empty state, which may name the run that starts, and no history", async () => {
    const [thread_id, asked] = [crypto.randomUUID(), crypto.randomUUID()]
    await server().run("hitl", { thread_id: asked, input: { x: 1 } })
    const [id, question] = ["run-1", { graph_id: "chat", thread_id, subgraphs: false }]

    const empty = await ask("graph.state", question)
    const starting = Object(await ask("graph.state", { ...question, starting: id }))
    const open = Object(await ask("graph.state", { ...question, graph_id: "hitl", thread_id: asked, starting: id }))

    const nothing = { values: {}, next: [], tasks: [], created_at: null, checkpoint: null, parent_checkpoint: null }
    assert.deepEqual(empty, { ...nothing, interrupts: [] })
    assert.deepEqual(await history("chat", thread_id), [])
    const task = { error: null, interrupts: [], checkpoint: null, state: null, result: null }
    assert.deepEqual(starting.next, ["__start__"])
    assert.deepEqual(starting.tasks, [{ id, name: "__start__", path: ["__pregel_pull", "__start__"], ...task }])
    assert.deepEqual([open.next.length, open.next.includes("__start__")], [1, false])
  })

  test("a failed task has its error as text", async () => {
    const { frame } = await server().run("error", { input: { x: 0 } })

    const state = Object(await ask("graph.state", { graph_id: "error", thread_id: frame.thread_id, subgraphs: false }))

    const text = isPython ? "TypeError('node exploded')" : '{"message":"node exploded","name":"TypeError"}'
    assert.equal(state.tasks[0].error, text)
  })

  test("a subgraph's task has its checkpoint, or its state when subgraphs are requested", async () => {
    const { frame } = await server().run("nested", { input: { log: [] }, interrupt_before: ["sub"] })
    const { thread_id } = frame
    const question = { graph_id: "nested", thread_id }

    const closed = Object(await ask("graph.state", { ...question, subgraphs: false }))
    const open = Object(await ask("graph.state", { ...question, subgraphs: true }))

    const [{ id: taskId, checkpoint, state }] = closed.tasks
    const checkpoint_ns = `sub:${taskId}`
    assert.deepEqual(checkpoint, { thread_id, checkpoint_id: null, checkpoint_ns, checkpoint_map: null })
    assert.equal(state, null)
    assert.equal(open.tasks[0].checkpoint, null)
    assert.deepEqual(open.tasks[0].state.values, {})
  })

  test("the state at a checkpoint, and in a subgraph's namespace", async () => {
    const { frame } = await server().run("nested", { input: { log: ["a"] } })
    const { thread_id } = frame
    const states = await history("nested", thread_id)
    const before = states.find(({ next }) => Object(next)[0] === "sub")
    const ns = server().checkpoints.saved.find((each) => each.threadId === thread_id && each.ns !== "")?.ns

    const question = { graph_id: "nested", thread_id, subgraphs: false }
    const earlier = Object(await ask("graph.state", { ...question, checkpoint_id: checkpointId(before) }))
    const inner = Object(await ask("graph.state", { ...question, checkpoint_ns: ns }))

    assert.deepEqual(earlier.values.log, ["a", "first"])
    assert.deepEqual(inner.values.log, ["a", "first", "inner"])
  })

  test("history is newest first, with a limit, a start and a filter", async () => {
    const { frame } = await server().run("slow", { input: { n: 2 }, config: { configurable: { tick_ms: 0 } } })
    const { thread_id } = frame
    const numbers = (states: readonly State[]) => states.map(({ values }) => Object(values).n)

    const all = await history("slow", thread_id)
    const limited = await history("slow", thread_id, { limit: 2 })
    const older = await history("slow", thread_id, { before: checkpointId(all[1]) })
    const filtered = await history("slow", thread_id, { filter: { source: "input" } })

    assert.deepEqual(numbers(all), [5, 4, 3, 2, undefined])
    assert.deepEqual(numbers(limited), [5, 4])
    assert.deepEqual(numbers(older), [3, 2, undefined])
    assert.deepEqual(numbers(filtered), [undefined])
  })

  interface State {
    readonly values: unknown
    readonly next: unknown
    readonly checkpoint: unknown
  }

  function ask(method: string, fields: object): Promise<unknown> {
    return server().ask({ method, checkpoint_ns: "", ...fields })
  }

  async function history(graph_id: string, thread_id: string, options: object = {}): Promise<State[]> {
    const states = await ask("graph.history", { graph_id, thread_id, limit: 10, ...options })
    assert.ok(Array.isArray(states))
    return states
  }

  function checkpointId(state: State | undefined): string {
    return Object(state?.checkpoint).checkpoint_id
  }

  function isValues(header: object, claimId: string): boolean {
    return "claim_id" in header && header.claim_id === claimId && "event" in header && header.event === "values"
  }

  function openQuestions({ interrupts }: { readonly interrupts: unknown }): unknown[] {
    return Object.values(Object(interrupts)).flat().map(question)
  }

  /** Also by tasks of a `goto`, which LangGraph for Python leaves out of the state. */
  function askedBy({ events }: { readonly events: readonly { readonly data: unknown }[] }): string[] {
    return events.flatMap(({ data }) => Object(data).__interrupt__ ?? []).map((each) => Object(question(each)).q)
  }

  /** Whether a call saves what a command itself writes: LangGraph.js saves an answer by id under that id. */
  function isOfCommand(call: WorkerCall, question: string): boolean {
    const tasks = call.method === "checkpoint.put_writes" ? call.writes.map(({ task_id }) => task_id) : [""]
    return tasks.every((task) => task === nullTask || task === question)
  }

  function question(interrupt: unknown): unknown {
    return Object(interrupt).value
  }

  function id(interrupt: unknown): string {
    return Object(interrupt).id
  }
})
