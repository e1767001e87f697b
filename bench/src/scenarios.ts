/** What is measured, and what must be true of every answer for its time to count. */
import { BenchFailed, callJson, type StreamedRun, streamRun, type Target } from "./http-client.js"
import type { Options } from "./options.js"

/** One figure: times are better low, rates high. */
export interface Metric {
  readonly key: string
  readonly label: string
  readonly unit: "ms" | "tokens/s"
}

/** One request's figures, by the metrics' keys. */
export type Sample = Readonly<Record<string, number>>

export interface Scenario {
  readonly name: string
  readonly metrics: readonly Metric[]
  /** Requests before anything is measured. */
  readonly warmUps: number
  /** Requests in one round. */
  readonly requests: number
  /** Does one request from its preparation to its checks. @throws BenchFailed  when an answer is wrong */
  run(target: Target): Promise<Sample>
}

const times: readonly Metric[] = [
  { key: "firstEventMs", label: "first event", unit: "ms" },
  { key: "firstOutputMs", label: "first output", unit: "ms" },
  { key: "lastEventMs", label: "last event", unit: "ms" },
]

export const scenarios = ({ requests, tokens }: Options): Scenario[] => [
  { name: "echo, new thread", metrics: times, warmUps: 30, requests, run: echoOnThread },
  { name: "echo, stateless", metrics: times, warmUps: 30, requests, run: echoStateless },
  {
    name: `one stream of ${tokens} tokens`,
    metrics: [{ key: "tokensPerSecond", label: "tokens", unit: "tokens/s" }],
    warmUps: 2,
    requests: 1,
    run: (target) => longStream(target, tokens),
  },
]

async function echoOnThread(target: Target): Promise<Sample> {
  const threadId = await createThread(target)
  const run = await streamRun(target, `/threads/${threadId}/runs/stream`, echoRequest)
  checkEcho(run)
  checkLast(await finalMessages(target, threadId), "echo: hello")
  return timesOf(run)
}

async function echoStateless(target: Target): Promise<Sample> {
  const run = await streamRun(target, "/runs/stream", echoRequest)
  checkEcho(run)
  return timesOf(run)
}

async function longStream(target: Target, tokens: number): Promise<Sample> {
  const threadId = await createThread(target)
  const run = await streamRun(target, `/threads/${threadId}/runs/stream`, {
    assistant_id: "tokens",
    input: userSays(String(tokens)),
    stream_mode: "messages-tuple",
  })
  const expected = Array.from({ length: tokens }, (_, index) => `t${index} `)
  const got = run.events.filter(({ name }) => name === "messages").map(({ data }) => contentOf(JSON.parse(data)[0]))
  check(got.join("") === expected.join(""), `the stream's tokens are not the model's: ${got.length} of ${tokens} came`)
  check(got.length === tokens, `${got.length} events for ${tokens} tokens`)
  checkFrame(run)
  checkLast(await finalMessages(target, threadId), expected.join(""))
  return { tokensPerSecond: (tokens / run.lastEventMs) * 1000 }
}

const userSays = (content: string) => ({ messages: [{ role: "user", content }] })

const echoRequest = { assistant_id: "echo", input: userSays("hello"), stream_mode: "values" }

const timesOf = ({ firstEventMs, firstOutputMs, lastEventMs }: StreamedRun): Sample => ({
  firstEventMs,
  firstOutputMs,
  lastEventMs,
})

async function createThread(target: Target): Promise<string> {
  const thread = (await callJson(target, "POST", "/threads", {})) as { thread_id: string }
  return thread.thread_id
}

async function finalMessages(target: Target, threadId: string): Promise<unknown[]> {
  const state = (await callJson(target, "GET", `/threads/${threadId}/state`)) as { values: { messages: unknown[] } }
  return state.values.messages
}

/** In `values` mode the state comes once before the node and once after it. */
function checkEcho(run: StreamedRun): void {
  checkFrame(run)
  const values = run.events.filter(({ name }) => name === "values")
  check(values.length === 2, `${values.length} values events instead of 2`)
  checkLast((JSON.parse(values.at(-1)?.data ?? "{}") as { messages?: unknown[] }).messages ?? [], "echo: hello")
}

/** A stream begins with `metadata`, holds no error, and ends with `end`. */
function checkFrame({ events }: StreamedRun): void {
  const names = events.map(({ name }) => name)
  check(names[0] === "metadata" && names.at(-1) === "end", `the stream is ${names.slice(0, 3)} … ${names.slice(-3)}`)
  const error = events.find(({ name }) => name === "error")
  check(error === undefined, `the run failed: ${error?.data}`)
}

function checkLast(messages: readonly unknown[], content: string): void {
  check(messages.length === 2, `the state has ${messages.length} messages instead of 2`)
  check(contentOf(messages.at(-1)) === content, `the last message is not the graph's answer`)
}

function contentOf(message: unknown): string {
  const content = typeof message === "object" && message !== null && "content" in message ? message.content : undefined
  return typeof content === "string" ? content : ""
}

function check(isTrue: boolean, problem: string): void {
  if (!isTrue) throw new BenchFailed(problem)
}
