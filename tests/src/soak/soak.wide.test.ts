/** The bounded form of `npm run soak`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { agentDatabase } from "../testing/agent-servers.js"
import { hasProc } from "../testing/process-memory.js"
import { soakAServer } from "./soak-of-a-server.js"

const [rounds, visitsPerRound] = [4, 96]

test("a server under mixed load keeps its promises and nothing of the runs that are over", {
  skip: unlessLong("npm run soak does it for longer") || (!hasProc && "memory and files are read from /proc"),
}, async (t) => {
  await using db = await agentDatabase()

  const wantsMore = (round: number) => round < rounds
  const say = (line: string) => t.diagnostic(line)
  const load = { seed: 20_261_121, visitsPerRound, wantsMore, say }
  const problems = await soakAServer(db, { ...load, waitsForOldEvents: true })

  assert.deepEqual(problems, [])
})
