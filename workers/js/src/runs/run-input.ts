/** What a run's first step gets: the input, a command, or nothing when the thread just continues. */
import type { CheckpointTuple, RunnableConfig } from "../loading/langgraph.js"
import type { Library } from "../loading/library.js"
import { isLostAnswer, toCommand } from "../values/command.js"
import type { RunRequest } from "./run-request.js"

export interface RunStart {
  readonly input: unknown
  readonly config: RunnableConfig
}

/**
 * @param head  the thread's newest checkpoint; only needed for a repeated attempt or an answer that LangGraph would lose
 */
export function runStart(
  library: Library,
  { frame, input, command }: RunRequest,
  config: RunnableConfig,
  head: CheckpointTuple | undefined,
): RunStart {
  if (frame.attempt > 1 && head?.metadata.run_id === frame.run_id) return { input: null, config: fromHead(config) }
  if (command === undefined) return { input, config }
  return { input: toCommand(library, command, head), config }
}

/** Whether `runStart` needs the head. */
export function needsHead(library: Library, { frame, command }: RunRequest): boolean {
  return frame.attempt > 1 || (command !== undefined && isLostAnswer(library, command))
}

/**
 * The previous attempt has saved a checkpoint, so its input or command is already applied. Sent again, an answer would also
 * answer the next interrupt, and a run from an older checkpoint would fork once more.
 */
function fromHead(config: RunnableConfig): RunnableConfig {
  const { checkpoint_id: _, checkpoint_ns: __, checkpoint_map: ___, ...configurable } = config.configurable ?? {}
  return { ...config, configurable }
}
