/** Runs that stream a model's tokens: a few, many, and many streams at once. */
import { parseRun, recordRun, type StreamedRun, streamRun } from "../http-client.js"
import type { Options } from "../options.js"
import { percentile } from "../statistics.js"
import type { System } from "../systems/system.js"
import {
  check,
  checkFrame,
  checkLast,
  contentOf,
  createThread,
  everywhere,
  pythonToo,
  type Sample,
  type Scenario,
  spending,
  stateOf,
  userSays,
  withoutEdge,
} from "./scenario.js"

export const tokenScenarios = ({ requests, tokens, isQuick }: Options): Scenario[] => {
  const [streams, each] = isQuick ? [5, 100] : [50, 1000]
  return [
    {
      name: "5 tokens, stateless",
      metrics: [
        { key: "firstOutputMs", label: "first token p50", unit: "ms", better: "low" },
        { key: "endMs", label: "whole request p50", unit: "ms", better: "low" },
      ],
      systems: [...everywhere, ...pythonToo],
      warmUps: isQuick ? 3 : 20,
      requests: Math.ceil(requests / 2),
      run: fewTokens,
    },
    {
      name: `one stream of ${tokens} tokens`,
      metrics: [
        { key: "tokensPerSecond", label: "tokens", unit: "/s", better: "high" },
        { key: "cpuMs", label: "processor time of 1,000", unit: "ms", better: "low" },
      ],
      systems: [...withoutEdge, ...pythonToo],
      warmUps: 1,
      requests: 1,
      run: (system) => longStream(system, tokens),
    },
    {
      name: `${streams} streams of ${each} tokens`,
      metrics: [
        { key: "tokensPerSecond", label: "tokens of all", unit: "/s", better: "high" },
        { key: "firstTokenMs", label: "first token p50", unit: "ms", better: "low" },
      ],
      systems: [...withoutEdge, ...pythonToo],
      warmUps: isQuick ? 0 : 1,
      requests: 1,
      maxRounds: 3,
      run: (system) => manyStreams(system, streams, each),
    },
  ]
}

export const tokensRequest = (asked: string) => ({
  assistant_id: "tokens",
  input: userSays(asked),
  stream_mode: "messages-tuple",
})

async function fewTokens(system: System): Promise<Sample> {
  const run = await streamRun(system.target, "/runs/stream", tokensRequest("5"))
  checkTokens(system, run, 5)
  return { firstOutputMs: run.firstOutputMs, endMs: run.endMs }
}

async function longStream(system: System, tokens: number): Promise<Sample> {
  const threadId = await createThread(system.target)
  const { result: run, cpuMs } = await spending(system, tokens / 1000, () =>
    streamRun(system.target, `/threads/${threadId}/runs/stream`, tokensRequest(`${tokens}`)),
  )
  checkTokens(system, run, tokens)
  const { messages } = await stateOf<{ messages: unknown[] }>(system.target, threadId)
  checkLast(messages, textOf(tokens))
  return { tokensPerSecond: (tokens / run.endMs) * 1000, cpuMs }
}

async function manyStreams(system: System, streams: number, tokens: number): Promise<Sample> {
  const begin = performance.now()
  const all = Array.from({ length: streams }, () =>
    recordRun(system.target, "/runs/stream", tokensRequest(`${tokens}`)),
  )
  const recordings = await Promise.all(all)
  const durationMs = performance.now() - begin
  const runs = recordings.map(parseRun)
  for (const run of runs) checkTokens(system, run, tokens)
  return {
    tokensPerSecond: ((streams * tokens) / durationMs) * 1000,
    firstTokenMs: percentile(
      runs.map(({ firstOutputMs }) => firstOutputMs),
      0.5,
    ),
  }
}

const textOf = (tokens: number): string => Array.from({ length: tokens }, (_, index) => `t${index} `).join("")

/** Checks that every token was received once, in order, in a separate event. */
export function checkTokens(system: System, run: StreamedRun, tokens: number): void {
  checkFrame(system, run)
  const got = run.events.filter(({ name }) => name === "messages").map(({ data }) => contentOf(JSON.parse(data)[0]))
  check(got.join("") === textOf(tokens), `the stream's tokens are wrong: received ${got.length} of ${tokens}`)
  check(got.length === tokens, `${got.length} events for ${tokens} tokens`)
}
