/** W9: a run whose readers are behind sends nothing for a while. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunFrame } from "@superstep/protocol/worker/frames"
import type { FakeServer } from "../testing/fake-server.js"
import { languages } from "../testing/languages.js"

const options = { input: { n: 0 }, stream_modes: ["custom"], config: { configurable: { tick_ms: 20 } } }

const tell = (on: FakeServer, { run_id, claim_id }: RunFrame, type: string) => on.send({ type, run_id, claim_id })

const ticks = (on: FakeServer, { claim_id }: RunFrame) =>
  on.events(claim_id).map(({ data }) => (data as { tick: number }).tick)

for (const { name, skip, start } of languages) {
  test(`W9: a run in ${name} that is paused in the same write as it starts, and again as it is resumed, sends no event`, {
    skip,
  }, async () => {
    await using server = await start("slow")
    const frame = server.startRun("slow", options)
    for (const type of ["pause_events", "resume_events", "pause_events"]) tell(server, frame, type)

    // By then it has sent all that it sends.
    await server.run("slow", options)
    const atFirst = ticks(server, frame)
    for (const type of ["resume_events", "pause_events"]) tell(server, frame, type)
    await server.run("slow", options)
    const inBetween = ticks(server, frame)
    tell(server, frame, "resume_events")
    const { status } = await server.done(frame)

    assert.deepEqual([atFirst, inBetween, status], [[], [], "success"])
    assert.deepEqual(ticks(server, frame), [0, 1, 2, 3, 4])
  })
}
