/** Defines what the models of a deployment's runs used. Pure. */
import { firstTokenBoundsMs } from "@superstep/protocol/unit/run-latency"
import { type Latency, latencyOf } from "./percentile.js"

export interface ModelTally {
  readonly input_tokens: number
  readonly output_tokens: number
  /** Sum over the runs with a model that streams of the time from when they could start to the first token. */
  readonly first_token_ms: number
  /** By the classes of protocol/unit. */
  readonly first_token_counts: readonly number[]
}

export const noModels: ModelTally = { input_tokens: 0, output_tokens: 0, first_token_ms: 0, first_token_counts: [] }

/** What models used between two reports of a unit; after its restart, since the restart: no count of one that runs on becomes less. */
export function modelsSince(before: ModelTally, now: ModelTally): ModelTally {
  const { input_tokens, output_tokens, first_token_ms } = now
  const counts = now.first_token_counts.map((count, index) => count - (before.first_token_counts[index] ?? 0))
  const since = {
    input_tokens: input_tokens - before.input_tokens,
    output_tokens: output_tokens - before.output_tokens,
    first_token_ms: first_token_ms - before.first_token_ms,
    first_token_counts: counts,
  }
  const hasRestarted = [since.input_tokens, since.output_tokens, since.first_token_ms, ...counts].some((it) => it < 0)
  return hasRestarted ? now : since
}

export const sumOfModels = (tallies: readonly ModelTally[]): ModelTally =>
  tallies.reduce(
    (sum, it) => ({
      input_tokens: sum.input_tokens + it.input_tokens,
      output_tokens: sum.output_tokens + it.output_tokens,
      first_token_ms: sum.first_token_ms + it.first_token_ms,
      first_token_counts: [...firstTokenBoundsMs, Infinity].map(
        (_, index) => (sum.first_token_counts[index] ?? 0) + (it.first_token_counts[index] ?? 0),
      ),
    }),
    noModels,
  )

export interface ModelsUsed {
  /** Null: nothing counted them. */
  readonly tokens: { readonly input: number; readonly output: number } | null
  readonly first_token_ms: Latency
}

/** @param tallies  null: at that time nothing counted */
export function modelsUsed(tallies: readonly (ModelTally | null)[]): ModelsUsed {
  const counted = tallies.filter((it) => it !== null)
  const { input_tokens: input, output_tokens: output, first_token_ms, first_token_counts } = sumOfModels(counted)
  return {
    tokens: counted.length === 0 ? null : { input, output },
    first_token_ms: latencyOf(first_token_ms, first_token_counts, firstTokenBoundsMs),
  }
}
