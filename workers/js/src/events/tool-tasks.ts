/**
 * Which task executes a tool call. Since LangGraph 1.7 the events of a tool name the graph only; the newer protocol names the
 * task, and so did LangGraph before. Pure.
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import type { Namespace } from "./protocol-event.js"

type Fields = Readonly<Record<string, unknown>>

export class ToolTasks {
  /** The tasks that execute, by the path of their graph. */
  readonly #tasks = new Map<string, { readonly path: Namespace; readonly input: unknown }[]>()
  readonly #calls = new Map<string, Namespace>()

  starts(graph: Namespace, path: Namespace, input: unknown): void {
    const key = graph.join("|")
    this.#tasks.set(key, [...(this.#tasks.get(key) ?? []), { path, input }])
  }

  ends(graph: Namespace, path: Namespace): void {
    const key = graph.join("|")
    const left = (this.#tasks.get(key) ?? []).filter((task) => task.path.at(-1) !== path.at(-1))
    if (left.length > 0) this.#tasks.set(key, left)
    else this.#tasks.delete(key)
  }

  /** The task of a tool call: the one whose input has the call. An unknown call belongs to its graph. */
  pathOf(graph: Namespace, callId: string, isLast: boolean): Namespace {
    const known = this.#calls.get(callId)
    if (isLast) this.#calls.delete(callId)
    if (known !== undefined) return known
    const tasks = this.#tasks.get(graph.join("|")) ?? []
    const task =
      tasks.find(({ input }) => isFor(input, callId)) ?? tasks.findLast(({ input }) => asksFor(input, callId))
    const path = task?.path ?? graph
    if (!isLast) this.#calls.set(callId, path)
    return path
  }
}

const isFor = (input: unknown, callId: string): boolean =>
  isRecord(input) && isRecord(input.tool_call) && input.tool_call.id === callId

/** Whether the input is a list of tool calls or has a message with this one. */
function asksFor(input: unknown, callId: string): boolean {
  const lists = Array.isArray(input) ? [input] : isRecord(input) ? Object.values(input).filter(Array.isArray) : []
  const isCall = (value: unknown) => isRecord(value) && value.id === callId
  return lists.some((list) =>
    list.some(
      (each: unknown) =>
        isCall(each) || (isRecord(each) && Array.isArray(each.tool_calls) && each.tool_calls.some(isCall)),
    ),
  )
}

export const toolCallId = (payload: Fields): string => String(payload.toolCallId ?? payload.tool_call_id ?? "")
