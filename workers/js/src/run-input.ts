/** What a run's first step gets: the input, a command, or nothing, when the thread simply goes on. */
import type { CheckpointTuple, LangGraphModule, RunnableConfig } from "./langgraph.js"
import type { Library } from "./library.js"
import type { CommandFields, RunRequest } from "./run-request.js"

export interface RunStart {
  readonly input: unknown
  readonly config: RunnableConfig
}

/**
 * @param head  the thread's newest checkpoint; only looked at by a repeated attempt or an answer that LangGraph would lose
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

/** True when `runStart` has to see the head. */
export function needsHead(library: Library, { frame, command }: RunRequest): boolean {
  return frame.attempt > 1 || (command !== undefined && isLostAnswer(library, command))
}

/**
 * The attempt before this one has saved a checkpoint, so its input or command is in. Sent again, an answer would also
 * answer the next question, and a run from an older checkpoint would fork once more.
 */
function fromHead(config: RunnableConfig): RunnableConfig {
  const { checkpoint_id: _, checkpoint_ns: __, checkpoint_map: ___, ...configurable } = config.configurable ?? {}
  return { ...config, configurable }
}

/** @param head  where the open questions are, for an answer that LangGraph would lose */
export function toCommand(library: Library, command: CommandFields, head: CheckpointTuple | undefined): object {
  const { Command, Send } = library.module
  const { goto, update, resume } = command
  return new Command({
    ...(update === undefined || update === null ? {} : { update }),
    ...(goto === undefined || goto === null ? {} : { goto: [goto].flat().map((each) => toGoto(Send, each)) }),
    ...(resume === undefined ? {} : { resume: isLostAnswer(library, command) ? answerById(resume, head) : resume }),
  })
}

function toGoto(Send: LangGraphModule["Send"], target: unknown): unknown {
  if (typeof target !== "object" || target === null || !("node" in target)) return target
  return new Send(String(target.node), "input" in target ? target.input : undefined)
}

/**
 * Every answer reaches its node (decisions, agent server 7). LangGraph takes `null` for none, and before 1.7 also `false`, `0` and
 * `""`. `null` is an answer when the command says nothing else; beside a `goto` or an `update` it means that there is none.
 */
function isLostAnswer(library: Library, { resume, goto, update }: CommandFields): boolean {
  if (resume === undefined || resume) return false
  return resume === null ? (goto ?? null) === null && (update ?? null) === null : !library.isSince("1.7.0")
}

/** The map `{interrupt id: answer}` passes any value; the oldest open question gets it, as it would otherwise. */
function answerById(answer: unknown, head: CheckpointTuple | undefined): unknown {
  const interrupts = head?.pendingWrites.filter(([, channel]) => channel === "__interrupt__") ?? []
  const first: unknown = interrupts.flatMap(([, , value]) => value)[0]
  if (typeof first !== "object" || first === null || !("id" in first)) return answer
  return { [String(first.id)]: answer }
}
