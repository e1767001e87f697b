/** The server refuses a call of a run, because another attempt has its claim. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { WorkerCall } from "@superstep/protocol/worker/frames"
import { inBothLanguages } from "../testing/languages.js"

inBothLanguages(["slow"], ({ server }) => {
  test("a run that loses its claim while it is being cancelled sends nothing more (W4)", async () => {
    const it = server()
    const asked = { input: { n: 0 }, config: { configurable: { tick_ms: 50 } } }
    const run = it.startRun("slow", asked)
    const { run_id, claim_id } = run
    let puts = 0
    it.refuse = (call: WorkerCall) => {
      if (!("claim_id" in call) || call.claim_id !== claim_id) return undefined
      // A run is not cancelled before its input is saved.
      if (call.method === "checkpoint.put") puts++
      if (puts < 2) return undefined
      // Together with the refusal: the worker reads both before it goes on.
      it.send({ type: "cancel", run_id, claim_id })
      return { error: "ClaimLost", message: "another attempt executes the run" }
    }
    await it.frame(() => puts > 1)

    // The end of the run would come before that of one which begins later.
    const { status } = await it.run("slow", asked)

    assert.equal(status, "success")
    const ends = it.received.filter(({ header }) => header.type === "done" && header.claim_id === claim_id)
    assert.deepEqual(ends, [])
  })
})
