/** What a run's first step gets: the input, a command, or nothing when the thread just continues. */
import type { CheckpointTuple, LangGraphModule, RunnableConfig } from "../loading/langgraph.js"
import type { Library } from "../loading/library.js"
import type { CommandFields, RunRequest } from "./run-request.js"

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

/** @param head  the checkpoint with the open interrupts, for an answer that LangGraph would lose */
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
 * Every answer must reach its node (decisions, agent server 7). LangGraph treats `null` as no answer, and before 1.7 also `false`,
 * `0` and `""`. `null` is an answer when the command contains nothing else; with a `goto` or an `update` it means no answer.
 */
function isLostAnswer(library: Library, { resume, goto, update }: CommandFields): boolean {
  if (resume === undefined || resume) return false
  return resume === null ? (goto ?? null) === null && (update ?? null) === null : !library.isSince("1.7.0")
}

/** A map `{interrupt id: answer}` can pass any value; the oldest open interrupt gets the answer, as it would otherwise. */
function answerById(answer: unknown, head: CheckpointTuple | undefined): unknown {
  const interrupts = head?.pendingWrites.filter(([, channel]) => channel === "__interrupt__") ?? []
  const first: unknown = interrupts.flatMap(([, , value]) => value)[0]
  if (typeof first !== "object" || first === null || !("id" in first)) return answer
  return { [String(first.id)]: answer }
}
