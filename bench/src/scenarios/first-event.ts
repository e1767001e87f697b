/** Sequential requests on an otherwise idle server. */
import { type StreamedRun, streamRun } from "../http-client.js"
import type { Options } from "../options.js"
import type { System } from "../systems/system.js"
import {
  check,
  checkFrame,
  checkLast,
  createThread,
  everywhere,
  type Metric,
  pythonToo,
  type Sample,
  type Scenario,
  stateOf,
  userSays,
} from "./scenario.js"

const all = [...everywhere, ...pythonToo]

const metrics: readonly Metric[] = [
  { key: "firstEventMs", label: "first event p50", unit: "ms", better: "low" },
  { key: "firstEventMs", label: "first event p99", unit: "ms", better: "low", statistic: "p99" },
  { key: "endMs", label: "whole request p50", unit: "ms", better: "low" },
]

export const firstEventScenarios = ({ requests, isQuick }: Options): Scenario[] => {
  const warmUps = isQuick ? 5 : 30
  return [
    { name: "echo, stateless", metrics, systems: all, warmUps, requests, run: echoStateless },
    { name: "echo, new thread", metrics, systems: all, warmUps, requests, run: echoOnThread },
  ]
}

const echoRequest = { assistant_id: "echo", input: userSays("hello"), stream_mode: "values" }

async function echoStateless(system: System): Promise<Sample> {
  const run = await streamRun(system.target, "/runs/stream", echoRequest)
  checkEcho(system, run)
  return { firstEventMs: run.firstEventMs, endMs: run.endMs }
}

async function echoOnThread(system: System): Promise<Sample> {
  const threadId = await createThread(system.target)
  const run = await streamRun(system.target, `/threads/${threadId}/runs/stream`, echoRequest)
  checkEcho(system, run)
  checkLast((await stateOf<{ messages: unknown[] }>(system.target, threadId)).messages, "echo: hello")
  return { firstEventMs: run.firstEventMs, endMs: run.endMs }
}

/** In `values` mode the state is sent once before and once after the node. */
function checkEcho(system: System, run: StreamedRun): void {
  checkFrame(system, run)
  const values = run.events.filter(({ name }) => name === "values")
  check(values.length === 2, `${values.length} values events instead of 2`)
  checkLast((JSON.parse(values.at(-1)?.data ?? "{}") as { messages?: unknown[] }).messages, "echo: hello")
}
