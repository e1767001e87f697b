/** The bounded form of `npm run chaos -- --histories`. */
import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { test } from "node:test"
import { skip } from "@superstep/toolkit/testing/processes"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { campaign } from "../chaos/campaign.js"
import { chaosLanguages } from "../chaos/languages.js"
import { renderReport } from "../chaos/report.js"

const kills = runsLongTests ? 40 : 3

for (const { name, env, skip: withoutLanguage } of chaosLanguages)
  test(`some order explains what several clients see of a thread in ${name} while things die and clocks differ`, {
    skip: skip || withoutLanguage,
  }, async (t) => {
    // A change is judged by the rounds of the change before it; a release by new ones.
    const seed = runsLongTests ? randomInt(2 ** 31) : 501
    t.diagnostic(`seed ${seed}`)

    const report = await campaign({ kills, seed, env, histories: true })

    t.diagnostic(`\n${renderReport(report)}`)
    const { threads, undecided } = report.judged
    assert.deepEqual(report.broken, [], renderReport(report))
    assert.ok(undecided.length < threads / 2, `${undecided.length} of ${threads} threads are undecided`)
  })
