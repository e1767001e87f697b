import assert from "node:assert/strict"
import { test } from "node:test"
import type { Log } from "@superstep/toolkit/log/log"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { observeWith, type RunObserver } from "./observer.js"
import type { Claim } from "./run.js"

const broken = () => {
  throw new Error("a field that this observer does not expect")
}

test("an observer that fails is logged, and neither the run nor the other observers notice", () => {
  const logged: unknown[] = []
  const log = Object.assign(Object.create(silent) as Log, {
    error: (fields: { run_id: string }) => logged.push(fields.run_id),
  })
  const seen: string[] = []
  const whole: RunObserver = {
    started: () => ({
      firstEvent: () => void seen.push("first event"),
      spans: () => void seen.push("spans"),
      ended: (status) => void seen.push(status),
    }),
  }
  const failing: RunObserver = { started: () => ({ firstEvent: broken, spans: broken, ended: broken }) }

  const run = observeWith([{ started: broken }, failing, whole], log).started({ runId: "r1" } as Claim)
  run.firstEvent()
  run.spans?.({ spans: [], contents: [] })
  run.ended("success")
  run.ended("error")

  assert.deepEqual(seen, ["first event", "spans", "success"])
  assert.deepEqual(logged, ["r1", "r1", "r1", "r1"])
})
