/** The bounded form of `npm run chaos -- --conversations`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { languages } from "@superstep/worker-js/testing/languages"
import { conversationsCampaign, renderConversations } from "./campaign.js"

const conversations = runsLongTests ? 30 : 2

for (const language of languages)
  test(`every frame of a worker in ${language.name} keeps the protocol's rules while its runs are paused, cancelled and lost`, {
    skip: language.skip,
  }, async (t) => {
    const seed = seedOfCommit()
    t.diagnostic(`seed ${seed}`)

    const report = await conversationsCampaign({ seed, conversations, language })

    t.diagnostic(renderConversations(report))
    assert.deepEqual(report.broken, [])
  })
