/** W3: a run with durability `sync` goes on only after the replies to its writes. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { CompiledGraph, PregelLoop } from "../loading/langgraph.js"
import { inBothLanguages } from "../testing/languages.js"
import { awaitCommitsBetweenSteps } from "./commit-barrier.js"

// Each gives the event loop of the worker a turn.
const pings = 20

inBothLanguages(["gated"], ({ server }) => {
  test("W3: no node starts before the reply to the checkpoint of the super-step before it (sync)", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "gates-"))
    t.after(() => rmSync(folder, { recursive: true }))
    const gate = join(folder, "gate")
    for (const name of ["first", "inner"]) writeFileSync(`${gate}.${name}`, "")
    let answer = () => {}
    let rootPuts = 0
    const asked = new Promise<void>((isAsked) => {
      server().withhold = (call) => {
        if (call.method !== "checkpoint.put" || call.checkpoint_ns !== "") return undefined
        rootPuts += 1
        // After those of the input and of `__start__`, that of the node `first`.
        if (rootPuts !== 3) return undefined
        isAsked()
        return new Promise((resolve) => {
          answer = resolve
        })
      }
    })

    const options = { input: { log: [] }, config: { configurable: { gate } }, durability: "sync" } as const
    const frame = server().startRun("gated", { ...options, stream_modes: ["custom"] })
    await asked
    for (let n = 0; n < pings; n++) {
      server().send({ type: "ping", nonce: `p${n}` })
      await server().frame(({ header }) => header.type === "pong" && header.nonce === `p${n}`)
    }
    const eventsBefore = server().events(frame.claim_id)
    answer()
    const { status, events } = await server().done(frame)

    assert.deepEqual(eventsBefore, [{ event: "custom", data: { began: "first" } }])
    assert.deepEqual(events[1], { event: "custom", data: { began: "second" } })
    assert.equal(status, "success")
  })
})

/** A graph of two super-steps, whose loop asks for checkpoints as LangGraph before 1.4.8 did: it waits for none. */
function impatientGraph(commits: readonly Promise<unknown>[]) {
  const told: string[] = []
  let step = 0
  const loop: PregelLoop & { checkpointerPromises: Promise<unknown>[] } = {
    checkpointerPromises: [],
    async tick() {
      this.checkpointerPromises.push(...commits.slice(step, step + 1))
      step += 1
      return step <= 2
    },
  }
  const graph: Pick<CompiledGraph, "_runLoop"> = {
    async _runLoop({ loop }) {
      while (await loop.tick({})) told.push(`step ${step}`)
    },
  }
  awaitCommitsBetweenSteps(graph as CompiledGraph)
  return { told, run: () => graph._runLoop?.({ loop }) }
}

test("a LangGraph that does not wait is made to wait after its first super-step", async () => {
  let commit = () => {}
  const committed = new Promise<void>((resolve) => {
    commit = resolve
  }).then(() => told.push("committed"))
  const { told, run } = impatientGraph([committed])

  const running = run()
  setImmediate(commit)
  await running

  assert.deepEqual(told, ["step 1", "committed", "step 2"])
})

test("a write that fails ends the run with its error before the next super-step", async () => {
  const refused = new Error("refused")
  const { told, run } = impatientGraph([Promise.resolve(), Promise.reject(refused)])

  await assert.rejects(async () => run(), refused)

  assert.deepEqual(told, ["step 1"])
})
