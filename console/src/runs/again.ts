/** Running again what has failed or was stopped. */
import type { Agent } from "../agent/use-agent.js"
import type { ListedRun } from "./run-pages.js"

/** One that waits for an answer needs the answer, and one that succeeded needs nothing. */
export const canRunAgain = ({ status, cancel_reason }: Pick<ListedRun, "status" | "cancel_reason">): boolean =>
  status === "error" || status === "timeout" || (status === "interrupted" && Boolean(cancel_reason))

/**
 * Goes on where the run has stopped if its input is in the thread, else requests the same again.
 * @throws Error  the thread has gone on since, so that going on would be something else
 */
export async function runAgain(
  { client }: Pick<Agent, "client">,
  { thread_id, run_id }: Pick<ListedRun, "thread_id" | "run_id">,
): Promise<void> {
  const [run] = await client.runs.list(thread_id, { limit: 1 })
  if (run?.run_id !== run_id)
    throw new Error(`Run ${run_id.slice(-8)} is not the last one of its thread. Open the thread to go on there.`)
  await client.runs.create(thread_id, run.assistant_id, {
    ...requestOf(run as unknown as Past),
    metadata: run.metadata,
    multitaskStrategy: "reject",
    streamResumable: true,
    streamMode: ["updates", "tasks", "messages-tuple"],
  })
}

/** A run as the API shows it. */
export interface Past {
  readonly kwargs: {
    readonly input?: Record<string, unknown> | null
    readonly command?: object | null
    readonly config?: object | null
    readonly context?: object | null
  }
  readonly input_saved: boolean | null
}

/** What the new run asks for. */
export function requestOf({ kwargs: { input = null, command, config, context }, input_saved }: Past) {
  const same = { ...(config && { config }), ...(context && { context }) }
  if (input_saved !== false) return { ...same, input: null }
  return { ...same, input, ...(command && { command }) }
}
