/**
 * The first events of a run through the newer streaming protocol, beside those of the older API.
 *
 * Both create a run on a thread that exists, without an `Idempotency-Key` and without a run id of the client's own, on a connection that is
 * kept open, and wait for its end, so that no run disturbs the next one. The clock starts with the request that creates the run. Each
 * protocol's first event names the new run: `metadata`, and the root's lifecycle. Each one's first values are those of the graph's input.
 */
import { streamRun } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import { readEvents, startRun } from "./protocol-requests.js"
import { check, checkFrame, createThread, type Sample, type Scenario, userSays } from "./scenario.js"

export const firstProtocolEventScenarios = ({ isQuick, requests }: Options): Scenario[] => [
  {
    name: "echo, newer protocol",
    systems: ["server"],
    warmUps: isQuick ? 2 : 30,
    requests,
    metrics: [
      { key: "newerEventMs", label: "first event, newer protocol", unit: "ms", better: "low" },
      { key: "olderEventMs", label: "first event, older API", unit: "ms", better: "low" },
      { key: "eventRatio", label: "newer ÷ older, first event", unit: "", better: "low" },
      { key: "newerValuesMs", label: "first values, newer protocol", unit: "ms", better: "low" },
      { key: "olderValuesMs", label: "first values, older API", unit: "ms", better: "low" },
      { key: "valuesRatio", label: "newer ÷ older, first values", unit: "", better: "low" },
    ],
    run: firstEvents,
  },
]

interface FirstEvents {
  readonly eventMs: number
  readonly valuesMs: number
}

async function firstEvents(system: System): Promise<Sample> {
  const newer = await throughNewer(system)
  const older = await throughOlder(system)
  return {
    newerEventMs: newer.eventMs,
    olderEventMs: older.eventMs,
    eventRatio: newer.eventMs / older.eventMs,
    newerValuesMs: newer.valuesMs,
    olderValuesMs: older.valuesMs,
    valuesRatio: newer.valuesMs / older.valuesMs,
  }
}

async function throughNewer(system: System): Promise<FirstEvents> {
  const threadId = await createThread(system.target)
  const stream = readEvents(system, threadId, ["lifecycle", "values"], ':completed"')
  await stream.joined
  const begin = performance.now()
  await startRun(system, threadId, "echo", userSays("hello"))
  await stream.ended
  const names = stream.events().map(({ name }) => name)
  const isWhole = names[0] === "lifecycle" && names.at(-1) === "lifecycle"
  check(isWhole && names.filter((name) => name === "values").length === 2, `unexpected events: ${names}`)
  return { eventMs: stream.arrivedAt("event: lifecycle") - begin, valuesMs: stream.arrivedAt("event: values") - begin }
}

async function throughOlder(system: System): Promise<FirstEvents> {
  const threadId = await createThread(system.target)
  const body = { assistant_id: "echo", input: userSays("hello"), stream_mode: "values" }
  const run = await streamRun(system.target, `/threads/${threadId}/runs/stream`, body)
  checkFrame(system, run)
  return { eventMs: run.firstEventMs, valuesMs: run.firstOutputMs }
}
