/** The bounded form of `npm run chaos -- --worker-cuts`, with the workers of both languages. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { chaosLanguages } from "./languages.js"
import { renderWorkerCuts, workerCutsCampaign } from "./worker-cuts.js"

for (const language of chaosLanguages) {
  test(`an order explains what clients saw while sockets of workers fail, in ${language.name}`, {
    skip: skip || language.skip,
  }, async (t) => {
    const seed = seedOfCommit()
    t.diagnostic(`seed ${seed}`)

    const report = await workerCutsCampaign({ seed, faults: 4, env: language.env })

    t.diagnostic(renderWorkerCuts(report))
    assert.deepEqual(report.broken, [])
  })
}
