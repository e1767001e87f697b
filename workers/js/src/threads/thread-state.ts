/** Converts LangGraph's snapshot to the wire's ThreadState (agent-server API §2.6, recordings/interrupt-state.txt). Pure. */

import { checkpointRefOf } from "../checkpoints/checkpoint-payload.js"
import type { Interrupt, RunnableConfig, StateSnapshot, TaskSnapshot } from "../loading/langgraph.js"
import { serialise } from "../values/serialise.js"

export function threadState(snapshot: StateSnapshot): Record<string, unknown> {
  const tasks = snapshot.tasks.map(taskState)
  // Without a checkpoint LangGraph returns the given config; clients must see that there is no checkpoint.
  const isEmpty = snapshot.createdAt === undefined
  return {
    values: snapshot.values,
    next: snapshot.next,
    tasks,
    ...(snapshot.metadata === undefined ? {} : { metadata: snapshot.metadata }),
    created_at: snapshot.createdAt ?? null,
    checkpoint: isEmpty ? null : checkpointRefOf(snapshot.config),
    parent_checkpoint: snapshot.parentConfig === undefined ? null : checkpointRefOf(snapshot.parentConfig),
    interrupts: snapshot.tasks.flatMap(({ interrupts }) => interrupts),
  }
}

/**
 * The state of a thread on which a run will start: its input checkpoint would say the same.
 * @param runId  undefined: no run starts
 */
export function startingState(
  state: Readonly<Record<string, unknown>>,
  runId: string | undefined,
): Readonly<Record<string, unknown>> {
  const { next, tasks } = state
  const isAtRest = Array.isArray(next) && next.length === 0 && Array.isArray(tasks) && tasks.length === 0
  if (runId === undefined || !isAtRest) return state
  const nothing = { error: null, interrupts: [], checkpoint: null, state: null, result: null }
  return {
    ...state,
    next: ["__start__"],
    tasks: [{ id: runId, name: "__start__", path: ["__pregel_pull", "__start__"], ...nothing }],
  }
}

/**
 * Selects fields of a ThreadState; `values.x` selects one value, and has no effect together with `values`.
 * @param select  undefined: all fields
 */
export function selected(
  state: Readonly<Record<string, unknown>>,
  select: readonly string[] | undefined,
): Readonly<Record<string, unknown>> {
  if (select === undefined) return state
  const isWanted = (field: string) => select.includes(field)
  const fields = Object.fromEntries(Object.entries(state).filter(([field]) => isWanted(field)))
  const keys = new Set(select.filter((each) => each.startsWith("values.")).map((each) => each.slice("values.".length)))
  if (keys.size === 0 || isWanted("values")) return fields
  const values = Object.entries(Object(state.values)).filter(([key]) => keys.has(key))
  return { values: Object.fromEntries(values), ...fields }
}

/** The open interrupts by task, only for tasks that have some (agent-server API §2.4, Platform's form). */
export function openInterrupts({ tasks }: StateSnapshot): Record<string, readonly Interrupt[]> {
  return Object.fromEntries(tasks.filter(({ interrupts }) => interrupts.length > 0).map((t) => [t.id, t.interrupts]))
}

function taskState(task: TaskSnapshot): Record<string, unknown> {
  const { id, name, error, interrupts, path, state, result } = task
  return {
    id,
    name,
    // The saver stores an error as an object; clients get its JSON text.
    error: error === undefined || error === null ? null : typeof error === "string" ? error : serialise(error),
    interrupts,
    path: path ?? [],
    checkpoint: state === undefined || isSnapshot(state) ? null : checkpointRefOf(state),
    state: state !== undefined && isSnapshot(state) ? threadState(state) : null,
    result: result ?? null,
  }
}

function isSnapshot(state: StateSnapshot | RunnableConfig): state is StateSnapshot {
  return "values" in state && "tasks" in state
}
