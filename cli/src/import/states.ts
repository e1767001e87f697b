/** States of a thread, as an agent server's API has them, in the form that the import needs. Pure. */

export type Values = Readonly<Record<string, unknown>>

export interface Task {
  readonly name: string
  /** What it wrote, by channel; undefined when the server does not say. */
  readonly result: Values | undefined
  /** Whether a `Send` made it, whose input nobody knows. */
  readonly isSent: boolean
}

/** A checkpoint. */
export interface State {
  /** Undefined for a thread without checkpoints. */
  readonly id: string | undefined
  readonly parentId: string | undefined
  /** `input`, `loop`, `update` or `fork`. */
  readonly source: string
  readonly graphId: string | undefined
  readonly values: Values
  readonly next: readonly string[]
  readonly tasks: readonly Task[]
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)
const objectOf = (value: unknown): Json => (isObject(value) ? value : {})
const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** @param json  an item of a history, or a state */
export function readState(json: unknown): State {
  const { checkpoint, parent_checkpoint, metadata, ...state } = objectOf(json)
  const facts = objectOf(metadata)
  return {
    // Former servers have only the ids.
    id: textOf(objectOf(checkpoint).checkpoint_id) ?? textOf(state.checkpoint_id),
    parentId: textOf(objectOf(parent_checkpoint).checkpoint_id) ?? textOf(state.parent_checkpoint_id),
    source: textOf(facts.source) ?? "loop",
    graphId: textOf(facts.graph_id),
    values: objectOf(state.values),
    next: listOf(state.next).map(String),
    tasks: listOf(state.tasks).map((task) => readTask(objectOf(task))),
  }
}

const readTask = ({ name, result, path }: Json): Task => ({
  name: String(name),
  result: isObject(result) ? result : undefined,
  isSent: listOf(path)[0] === "__pregel_push",
})
