/** Running again what has failed or was stopped. */
import type { Agent } from "../agent/use-agent.js"
import type { ListedRun } from "./run-pages.js"

/** One that waits for an answer needs the answer, and one that succeeded needs nothing. */
export const canRunAgain = ({ status, cancel_reason }: Pick<ListedRun, "status" | "cancel_reason">): boolean =>
  status === "error" || status === "timeout" || (status === "interrupted" && Boolean(cancel_reason))

/** Whether the new run has no input, since that of the former one is in the thread. */
export const goesOn = ({ input_saved }: Pick<Past, "input_saved">): boolean => input_saved !== false

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
    readonly config?: Readonly<Record<string, unknown>> | null
    readonly context?: object | null
    readonly interrupt_before?: "*" | string[] | null
    readonly interrupt_after?: "*" | string[] | null
    readonly webhook?: string | null
    readonly durability?: "sync" | "async" | "exit" | null
    readonly subgraphs?: boolean
  }
  readonly input_saved: boolean | null
}

/** What the new run asks for: the same, from where the thread is if the input is in it. */
export function requestOf({ kwargs, ...run }: Past) {
  const { input = null, command, config, context, interrupt_before, interrupt_after, webhook, durability } = kwargs
  const same = {
    ...(config && { config: goesOn(run) ? withoutPlace(config) : config }),
    ...(context && { context }),
    ...(interrupt_before && { interruptBefore: interrupt_before }),
    ...(interrupt_after && { interruptAfter: interrupt_after }),
    ...(webhook && { webhook }),
    ...(durability && { durability }),
    ...(kwargs.subgraphs && { streamSubgraphs: true }),
  }
  return goesOn(run) ? { ...same, input: null } : { ...same, input, ...(command && { command }) }
}

/** A run that began at an earlier checkpoint goes on where it stopped, and not there again. */
function withoutPlace(config: Readonly<Record<string, unknown>>): object {
  if (typeof config.configurable !== "object" || config.configurable === null) return config
  const given = config.configurable as Readonly<Record<string, unknown>>
  const { checkpoint_id: _, checkpoint_ns: _ns, checkpoint_map: _map, ...configurable } = given
  return { ...config, configurable }
}
