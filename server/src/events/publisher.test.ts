import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { Publisher, type PublisherOptions } from "./publisher.js"
import type { Topic } from "./topic.js"

/** A run whose log accepts the first events and rejects the others, like that of an ended attempt. */
function publisherOf(taken: number) {
  const delivered: string[] = []
  let count = 0
  const journal: PublisherOptions["journal"] = {
    log: (event) => {
      if (count++ < taken) publisher.logged([event], { after: null, places: new Map() })
      return undefined
    },
    noteLogged: () => undefined,
    settled: async () => undefined,
  }
  const topic = {
    publish: ({ seq, event }: { seq: number; event: string }) => delivered.push(`${seq} ${event}`),
    wants: () => false,
  } as unknown as Topic
  const nothing = () => undefined
  const publisher: Publisher = new Publisher({
    run: { runId: randomUUID(), threadId: randomUUID(), graphId: "agent", attempt: 1 },
    journal,
    isWatched: false,
    isLogged: true,
    hasProtocolEvents: false,
    slowReaderBudgetMs: 0,
    topic: () => topic,
    onLoggedForSlow: nothing,
    onLogged: nothing,
    appendLate: async () => [],
    onOver: nothing,
    onDetached: nothing,
  })
  return { publisher, delivered }
}

test("when the log rejects a run's last events, the end follows the last sent event without a gap", async () => {
  const { publisher, delivered } = publisherOf(2)
  for (const event of ["metadata", "values", "values", "values"]) publisher.publish(event, "{}")

  await publisher.end({ status: "interrupted" })

  assert.deepEqual(delivered, ["0 metadata", "1 values", "2 end"])
})
