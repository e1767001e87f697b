/** The super-steps of a run, from the checkpoints of its thread. Pure. */
import { type ModelCall, newModelCalls } from "./model-calls.js"
import type { StateInfo, StateTask } from "./run-data.js"

/** One super-step: the nodes that executed between two checkpoints. */
export interface Step {
  readonly step: number
  /** The attempt that saved the checkpoint at its end; undefined if the checkpoint does not tell, or is missing. */
  readonly attempt: number | undefined
  readonly checkpointId: string | undefined
  readonly begunAt: number
  /** Undefined while it executes, or if it failed: then no checkpoint ended it. */
  readonly endedAt: number | undefined
  readonly tasks: readonly StateTask[]
  readonly calls: readonly ModelCall[]
}

// LangGraph's own task, which puts the input into the state. Nobody wrote it, and it takes no time.
const startNode = "__start__"

/** @param states  newest first */
export function stepsOf(runId: string, states: readonly StateInfo[]): Step[] {
  const byId = new Map(states.map((state) => [idOf(state), state]))
  const own = states.filter((state) => state.metadata?.run_id === runId).reverse()
  const nodesOf = ({ tasks }: StateInfo) => tasks.filter(({ name }) => name !== startNode)
  const steps = own.flatMap((state): Step[] => {
    const parent = byId.get(state.parent_checkpoint?.checkpoint_id ?? undefined)
    const tasks = parent ? nodesOf(parent) : []
    const isFork = state.metadata?.source === "fork" || state.metadata?.source === "update"
    if (!parent || tasks.length === 0 || isFork || state.metadata?.source === "input") return []
    return [
      {
        step: state.metadata?.step ?? 0,
        attempt: state.metadata?.run_attempt,
        checkpointId: idOf(parent),
        // A step that went on after an answer began with this run, not when its checkpoint was written.
        begunAt: parent.metadata?.run_id === runId ? timeOf(parent) : 0,
        endedAt: timeOf(state),
        tasks,
        calls: newModelCalls(parent.values, state.values),
      },
    ]
  })
  const last = own.at(-1)
  if (last && nodesOf(last).length > 0) {
    steps.push({
      step: (last.metadata?.step ?? 0) + 1,
      attempt: undefined,
      checkpointId: idOf(last),
      begunAt: timeOf(last),
      endedAt: undefined,
      tasks: nodesOf(last),
      calls: [],
    })
  }
  return steps
}

const idOf = ({ checkpoint }: StateInfo): string | undefined => checkpoint?.checkpoint_id ?? undefined
const timeOf = ({ created_at }: StateInfo): number => Date.parse(created_at ?? "") || 0
