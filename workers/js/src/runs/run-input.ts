/** What a run's first step gets: the input, a command, or nothing when the thread just continues; and whether an attempt has a first step. */
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
  request: RunRequest,
  config: RunnableConfig,
  head: CheckpointTuple | undefined,
): RunStart {
  const { frame, input, command } = request
  if (frame.attempt > 1 && head?.metadata.run_id === frame.run_id) return { input: null, config: fromHead(config) }
  if (head !== undefined && hasUsedAnswer(request))
    return { input: null, config: startsFrom(head, config) ? fromHead(config) : config }
  if (command === undefined) return { input: notCommand(input), config }
  // LangGraph puts the writes of an `update` or `goto` in place of those that an earlier attempt has saved; for Python it adds them.
  return { input: toCommand(library, command, head), config }
}

/**
 * LangGraph takes such an object for a command, which could answer without the right to. The server sends commands as `command`.
 * @throws Error  an access rule of the project has put one in place of the input
 */
function notCommand(input: unknown): unknown {
  const isCommand = typeof input === "object" && input !== null && "lg_name" in input && input.lg_name === "Command"
  if (isCommand) throw new Error('the input is a Command: send it as "command"')
  return input
}

/**
 * Whether an earlier attempt has saved that a task got the command's answer, such as a task of a subgraph, whose graph has no new
 * checkpoint yet. The task keeps the answer; sent again, the next question would get it. Of several answers those that no task has kept
 * are lost, and their questions are asked again.
 */
const hasUsedAnswer = ({ frame, command }: RunRequest): boolean =>
  command?.resume !== undefined && frame.command_saved === "answer"

/** Whether the run was started from the newest checkpoint. From an older one LangGraph starts anew and asks again. */
function startsFrom(head: CheckpointTuple, config: RunnableConfig): boolean {
  const asked = config.configurable?.checkpoint_id
  return asked === undefined || asked === null || asked === head.checkpoint.id
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

/**
 * LangGraph treats a run without input as a request to continue from a breakpoint. That is right for a new run, but a repeated
 * attempt must stop where the previous one stopped; else a node would run before a person has checked it.
 * @param near   the nodes that would run, or those that ran last
 * @param nodes  the nodes to stop before, or after
 * @see          `shouldInterrupt` of LangGraph: a channel has changed since the last interruption from which a run continued
 */
export function standsAt(
  head: CheckpointTuple,
  near: readonly string[],
  nodes: "*" | readonly string[] | undefined,
): boolean {
  const isNamed = (node: string) => (nodes === "*" ? node !== "__start__" : nodes?.includes(node))
  if (!near.some(isNamed)) return false
  const { channel_versions: versions, versions_seen: seen } = head.checkpoint
  const known = seen.__interrupt__ ?? {}
  return Object.entries(versions).some(([channel, version]) => version > (known[channel] ?? 0))
}
