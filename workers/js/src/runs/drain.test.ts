/** W8: a run that is asked to stop after its super-step. The test decides when a node may end (`gated`). */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import type { RunOptions } from "../testing/fake-server.js"
import { inBothLanguages } from "../testing/languages.js"

inBothLanguages(["gated", "rounds", "twice"], ({ server }) => {
  const folder = mkdtempSync(join(tmpdir(), "gates-"))
  after(() => rmSync(folder, { recursive: true }))

  let lastRun = 0

  /** A run of `gated`, or of another graph, with its own gates. */
  function startGated(options: RunOptions = {}, graphId = "gated") {
    lastRun += 1
    const gate = join(folder, String(lastRun))
    const config = { configurable: { gate } }
    const frame = server().startRun(graphId, {
      input: { log: [] },
      config,
      stream_modes: ["custom", "values"],
      ...options,
    })
    const began = () =>
      server()
        .events(frame.claim_id)
        .flatMap(({ data }) => (data as { began?: string }).began ?? [])
    return {
      frame,
      config,
      began,
      hasBegun: (name: string) => server().frame(() => began().includes(name)),
      open: (name: string) => writeFileSync(`${gate}.${name}`, ""),
    }
  }

  let lastPing = 0

  /** After the pong, the worker has read all frames before the ping. */
  async function drain(): Promise<void> {
    lastPing += 1
    const nonce = `d${lastPing}`
    server().send({ type: "drain" })
    server().send({ type: "ping", nonce })
    await server().frame(({ header }) => header.type === "pong" && header.nonce === nonce)
  }

  const logsOf = (threadId: string) =>
    server().checkpoints.saved.filter((each) => each.threadId === threadId && each.ns === "").length

  for (const durability of ["sync", "async"] as const) {
    test(`W8: a drained run has saved its super-step, and the next attempt starts after it (${durability})`, async () => {
      const run = startGated({ durability })
      await run.hasBegun("first")

      await drain()
      // Opened, too, so that a run that wrongly continues ends.
      run.open("inner")
      run.open("first")
      const { status, error, values, events } = await server().done(run.frame)
      const { thread_id, run_id } = run.frame
      const next = server().startRun("gated", { ...run, durability, thread_id, run_id, attempt: 2, config: run.config })
      const end = await server().done(next)

      assert.deepEqual([status, error, values], ["drained", undefined, undefined])
      assert.deepEqual(run.began(), ["first"])
      assert.deepEqual(events.at(-1), { event: "values", data: { log: ["first"] } })
      assert.equal(end.status, "success")
      assert.deepEqual(end.values, { log: ["first", "second", "inner", "innermost", "third"] })
      assert.ok(logsOf(thread_id) >= 2)
    })
  }

  for (const stream_modes of [["custom"], ["custom", "events"]]) {
    test(`W8: a subgraph is part of its super-step and finishes (${stream_modes})`, async () => {
      const run = startGated({ stream_modes, stream_subgraphs: true })
      run.open("first")
      await run.hasBegun("inner")

      await drain()
      run.open("inner")
      const { status } = await server().done(run.frame)

      assert.equal(status, "drained")
      assert.deepEqual([...new Set(run.began())], ["first", "second", "inner", "innermost"])
    })
  }

  test("W8: a run that ends or is interrupted with the super-step ends as usual", async () => {
    const stopping = startGated({ interrupt_after: ["first"] })
    const ending = startGated()
    const cancelled = startGated()
    ending.open("first")
    ending.open("inner")
    assert.equal((await server().done(ending.frame)).status, "success")
    await Promise.all([stopping.hasBegun("first"), cancelled.hasBegun("first")])

    await drain()
    const { run_id, claim_id } = cancelled.frame
    server().send({ type: "cancel", run_id, claim_id })
    stopping.open("first")

    assert.equal((await server().done(stopping.frame)).status, "interrupted")
    assert.equal((await server().done(cancelled.frame)).status, "cancelled")
  })

  test("W8: a breakpoint before the next node is reported by the next attempt, and the node does not start", async () => {
    const run = startGated({ interrupt_before: ["second"] })
    await run.hasBegun("first")

    await drain()
    run.open("first")
    const { status } = await server().done(run.frame)
    const { thread_id, run_id, interrupt_before } = run.frame
    const again = { thread_id, run_id, attempt: 2, config: run.config, interrupt_before: interrupt_before ?? [] }
    const end = status === "interrupted" ? { status, next: ["second"] } : await server().run("gated", again)

    assert.deepEqual([end.status, end.next], ["interrupted", ["second"]])
    assert.deepEqual(run.began(), ["first"])
  })

  test("W8: an answer is applied once when its run is drained before the first super-step", async () => {
    const thread_id = crypto.randomUUID()
    await server().run("twice", { thread_id, input: { out: [] } })

    const run = server().startRun("twice", { thread_id, command: { resume: "one" } })
    await drain()
    const { status } = await server().done(run)
    const again = await server().run("twice", { thread_id, run_id: run.run_id, attempt: 2, command: { resume: "one" } })
    const end = await server().run("twice", { thread_id, command: { resume: "two" } })

    assert.deepEqual([status, again.status], ["drained", "interrupted"])
    assert.deepEqual([end.status, end.values], ["success", { out: ["one, two"] }])
  })

  for (const round of [1, 2])
    test(`the next attempt asks a subgraph that remembers anew (a run drained in round ${round})`, async () => {
      const thread_id = crypto.randomUUID()
      const all = ["round 0", "round 1", "round 2", "round 3"]
      const before = round === 1 ? [] : [startGated({ thread_id }, "rounds")]
      for (const { open, frame } of before) {
        for (const name of all.slice(0, 2)) open(name)
        await server().done(frame)
      }

      const run = startGated({ thread_id }, "rounds")
      if (round === 1) run.open("round 0")
      await run.hasBegun(`round ${round}`)
      await drain()
      for (const name of all) run.open(name)
      const { status } = await server().done(run.frame)
      const { frame, config } = run
      const end = await server().run("rounds", { ...frame, claim_id: crypto.randomUUID(), attempt: 2, config })

      const { log } = end.values as { log: readonly string[] }
      assert.deepEqual([status, log], ["drained", all.slice(0, log.length).map((name) => `reply to ${name}`)])
      assert.equal(log.length, round * 2)
    })

  test("W8: a run that saves only at its end continues to its end", async () => {
    const run = startGated({ durability: "exit" })
    await run.hasBegun("first")

    await drain()
    run.open("first")
    run.open("inner")

    assert.equal((await server().done(run.frame)).status, "success")
  })
})
