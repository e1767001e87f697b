import assert from "node:assert/strict"
import { test } from "node:test"
import { stepsOf } from "./stages.js"

const started_at = "2026-01-01T00:00:00Z"
const at = (seconds: number) => Date.parse(started_at) + seconds * 1000
const textOf = (revision: Parameters<typeof stepsOf>[0], now: number) =>
  stepsOf(revision, now).map(({ name, state, durationMs }) => `${name} ${state} ${durationMs ?? "-"}`)

test("the running stage has lasted since the end of those before it", () => {
  const revision = { status: "BUILDING", duration_ms_by_stage: { queue: 1000, fetch: 2000 }, started_at }

  assert.deepEqual(textOf(revision, at(10)), [
    "queue done 1000",
    "fetch done 2000",
    "build running 7000",
    "deploy waiting -",
    "switch waiting -",
    "verify waiting -",
  ])
})

test("the last stage of a failed revision has failed, and none runs", () => {
  const revision = { status: "BUILD_FAILED", duration_ms_by_stage: { queue: 1, fetch: 2, build: 3 }, started_at }

  assert.deepEqual(textOf(revision, at(10)).slice(1, 4), ["fetch done 2", "build failed 3", "deploy waiting -"])
})
