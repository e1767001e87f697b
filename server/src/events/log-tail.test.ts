import assert from "node:assert/strict"
import { test } from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { until } from "@superstep/toolkit/testing/until"
import { LogTail } from "./log-tail.js"
import type { LoggedEvent } from "./queries.js"

const eventAt = (place: number): LoggedEvent => ({ runId: "r", seq: place, place, event: "values", data: "{}" })

test("events that this process appends are passed on without a read, unless others were appended before them", async () => {
  const logged = [5, 6, 7, 8].map(eventAt)
  const reads: number[] = []
  const places: number[] = []
  const tail = new LogTail({
    place: 4,
    log: createLog({ process: "test", level: "silent" }),
    read: async (after) => {
      reads.push(after)
      return logged.filter(({ place }) => place > after)
    },
    onEvent: ({ place }) => places.push(place),
  })

  tail.take({ after: 4, events: [eventAt(5)] })
  const taken = { places: [...places], reads: [...reads] }
  tail.take({ after: 6, events: [eventAt(7)] })
  // It is reading now, and reads these as well.
  tail.take({ after: 7, events: [eventAt(8)] })
  await until(() => places.length === 4, { what: "the events of others were read" })

  assert.deepEqual(taken, { places: [5], reads: [] })
  assert.deepEqual(places, [5, 6, 7, 8])
  assert.equal(reads[0], 5)
})
