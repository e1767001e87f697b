/** A command of a client, as LangGraph's `Command`. Pure. */
import type { CheckpointTuple, LangGraphModule } from "../loading/langgraph.js"
import type { Library } from "../loading/library.js"

export interface CommandFields {
  readonly goto?: unknown
  readonly update?: unknown
  readonly resume?: unknown
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
export function isLostAnswer(library: Library, { resume, goto, update }: CommandFields): boolean {
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
