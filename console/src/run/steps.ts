/** The super-steps of a run, from the checkpoints of its thread. Pure. */
import { type ModelCall, newModelCalls } from "./model-calls.js"
import type { RunInfo, StateInfo, StateTask } from "./run-data.js"
import { endsStep, idOf, requestedBase } from "./states.js"

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
  /** Its attempt ended before it did; a later attempt executed it again. */
  readonly isLost?: true
}

// LangGraph's own task, which puts the input into the state. Nobody wrote it, and it takes no time.
const startNode = "__start__"

/** @param states  newest first */
export function stepsOf(run: RunInfo, states: readonly StateInfo[]): Step[] {
  const runId = run.run_id
  const byId = new Map(states.map((state) => [idOf(state), state]))
  const own = states.filter((state) => state.metadata?.run_id === runId).reverse()
  const nodesOf = ({ tasks }: StateInfo) => tasks.filter(({ name }) => name !== startNode)
  const steps = own.flatMap((state): Step[] => {
    const parent = byId.get(state.parent_checkpoint?.checkpoint_id ?? undefined)
    const tasks = parent ? nodesOf(parent) : []
    if (!parent || tasks.length === 0 || !endsStep(state)) return []
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
  const last = own.at(-1) ?? baseOf(run, states)
  if (last && nodesOf(last).length > 0) {
    steps.push({
      step: (last.metadata?.step ?? 0) + 1,
      attempt: undefined,
      checkpointId: idOf(last),
      begunAt: own.length > 0 ? timeOf(last) : 0,
      endedAt: undefined,
      tasks: nodesOf(last),
      calls: [],
    })
  }
  return steps
}

const timeOf = ({ created_at }: StateInfo): number => Date.parse(created_at ?? "") || 0

/**
 * The checkpoint from which a run went on that saved none itself, since its first super-step failed or was interrupted again: the
 * requested one, else the newest of its time.
 */
function baseOf(run: RunInfo, states: readonly StateInfo[]): StateInfo | undefined {
  if (run.status === "pending") return undefined
  const requested = requestedBase(run)
  if (requested !== undefined) return states.find((state) => idOf(state) === requested)
  return states.find((state) => timeOf(state) <= Date.parse(run.updated_at))
}
