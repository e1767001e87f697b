/**
 * Counts what the models of runs use on this server: their tokens, and the time until the first one comes. It reads the spans that workers send
 * (decision 93), for Prometheus and for the control plane. Where nothing is traced, nothing is counted.
 */
import type { ModelUse } from "@superstep/protocol/unit/replies"
import { firstTokenBoundsMs, firstTokenClass } from "@superstep/protocol/unit/run-latency"
import type { Span } from "@superstep/protocol/worker/frames"
import { Counter, Histogram, type Registry } from "prom-client"
import type { RunObserver } from "../runs/observer.js"
import { mostMs, mostOfOne, mostTokens } from "./sum-limits.js"

// No call of a model has more. A worker executes code of a project, which can make it report anything.
const maxTokens = 1e9

export interface ModelUseCount {
  readonly observer: RunObserver
  /** Since the start of this server, or since a sum left its bounds. */
  report(): ModelUse
}

export function countModelUse(registry: Registry): ModelUseCount {
  const registers = [registry]
  const tokens = new Counter({
    name: "superstep_model_tokens_total",
    help: "Tokens of the models that runs on this server called, by direction: input or output.",
    labelNames: ["direction"],
    registers,
  })
  const firstToken = new Histogram({
    name: "superstep_time_to_first_token_seconds",
    help: "Time from when runs were due until a model of their first attempt sent its first token.",
    buckets: firstTokenBoundsMs.map((ms) => ms / 1000),
    registers,
  })
  const none = () => ({ input: 0, output: 0, sumMs: 0, ofRuns: 0, counts: [0, ...firstTokenBoundsMs.map(() => 0)] })
  let sums = none()

  const addTokens = ({ input, output }: Tokens) => {
    tokens.inc({ direction: "input" }, input)
    tokens.inc({ direction: "output" }, output)
    if (Math.max(sums.input + input, sums.output + output) > mostTokens) sums = none()
    sums.input += input
    sums.output += output
  }
  const addFirstToken = (ms: number) => {
    firstToken.observe(ms / 1000)
    if (sums.ofRuns === mostOfOne || sums.sumMs + ms > mostMs) sums = none()
    sums.ofRuns++
    sums.sumMs += ms
    const at = firstTokenClass(ms)
    sums.counts[at] = (sums.counts[at] ?? 0) + 1
  }
  const observer: RunObserver = {
    started: ({ attempt, waitedMs = 0 }) => {
      const startedMs = Date.now()
      const models = new AttemptModels()
      return {
        firstEvent: () => {},
        spans: ({ spans }) => {
          for (const span of spans) {
            const used = models.take(span)
            if (used) addTokens(used)
          }
        },
        ended: () => {
          // A later attempt repeats what its user may have seen begin.
          if (models.firstTokenUs === undefined || attempt > 1) return
          const executedMs = models.firstTokenUs / 1000 - startedMs
          addFirstToken(waitedMs + Math.min(Math.max(0, executedMs), Date.now() - startedMs))
        },
      }
    },
  }
  return {
    observer,
    report: () => ({
      input_tokens: sums.input,
      output_tokens: sums.output,
      first_token: { sum_ms: sums.sumMs, counts: [...sums.counts] },
    }),
  }
}

interface Tokens {
  readonly input: number
  readonly output: number
}

/** The models of one attempt. Counts each call once: a span may be sent again, and a model that calls another one repeats its tokens. */
class AttemptModels {
  /** Of all models of the attempt, the earliest one; microseconds since 1970, of the worker's clock. */
  firstTokenUs: number | undefined
  readonly #parents = new Map<number, number>()
  readonly #counted = new Set<number>()
  /** What is around a counted span. */
  readonly #around = new Set<number>()

  /** @returns  its tokens, the first time that it has some */
  take(span: Span): Tokens | undefined {
    const { number, parent, kind, status, first_token_us: firstTokenUs, input_tokens, output_tokens } = span
    // A parent begins before its spans, so the numbers never form a circle.
    if (parent !== undefined && parent < number) this.#parents.set(number, parent)
    if (kind !== "model") return undefined
    if (firstTokenUs !== undefined) this.firstTokenUs = Math.min(this.firstTokenUs ?? firstTokenUs, firstTokenUs)
    const tokens = { input: countOf(input_tokens), output: countOf(output_tokens) }
    if (status === "running" || tokens.input + tokens.output === 0) return undefined
    const around = this.#ancestors(number)
    const isKnown = [number, ...around].some((each) => this.#counted.has(each)) || this.#around.has(number)
    if (isKnown) return undefined
    this.#counted.add(number)
    for (const each of around) this.#around.add(each)
    return tokens
  }

  #ancestors(number: number): number[] {
    const around: number[] = []
    for (let at = this.#parents.get(number); at !== undefined; at = this.#parents.get(at)) around.push(at)
    return around
  }
}

const countOf = (tokens = 0): number => (tokens > 0 && tokens <= maxTokens ? tokens : 0)
