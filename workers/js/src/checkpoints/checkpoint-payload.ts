/** Checkpoints as clients see them: references, and the payloads of `checkpoints` and `debug` events. Pure. */
import { isRecord } from "@superstep/protocol/worker/validate"
import type { RunnableConfig } from "../loading/langgraph.js"

/** @see agent-server API §2.5 */
export interface CheckpointRef {
  readonly thread_id: unknown
  readonly checkpoint_id: unknown
  readonly checkpoint_ns: unknown
  readonly checkpoint_map: unknown
}

export function checkpointRefOf(config: RunnableConfig): CheckpointRef {
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config.configurable ?? {}
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  }
}

/**
 * The full form of a checkpoint event: without LangGraph's internals (callbacks, configurable keys that start with `__`), and
 * with a reference for a subgraph's config.
 * @see agent-server API §7.7, recordings/subgraphs-debug.txt
 */
export function checkpointPayload(payload: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { config, parentConfig, tasks, ...rest } = payload
  return {
    config: publicConfig(config),
    ...rest,
    tasks: Array.isArray(tasks) ? tasks.map(taskPayload) : [],
    checkpoint: isConfig(config) ? checkpointRefOf(config) : null,
    parent_checkpoint: isConfig(parentConfig) ? checkpointRefOf(parentConfig) : null,
    ...(isConfig(parentConfig) ? { parent_config: publicConfig(parentConfig) } : {}),
  }
}

/** A `debug` event: its payload is a checkpoint's or a task's. */
export function debugPayload(event: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, payload } = event
  return type === "checkpoint" && isRecord(payload) ? { ...event, payload: checkpointPayload(payload) } : { ...event }
}

function taskPayload(task: unknown): unknown {
  if (!isRecord(task) || !isConfig(task.state)) return task
  const { state, ...rest } = task
  return { ...rest, checkpoint: checkpointRefOf(state) }
}

/** `run_name` exists only when the run uses `graph.stream`; a payload must not depend on that. */
function publicConfig(config: unknown): unknown {
  if (!isRecord(config)) return config
  const { callbacks: _, run_name: __, configurable, ...rest } = config
  if (!isRecord(configurable)) return rest
  const visible = Object.entries(configurable).filter(([key]) => !key.startsWith("__"))
  return { configurable: Object.fromEntries(visible), ...rest }
}

function isConfig(value: unknown): value is RunnableConfig {
  return isRecord(value) && isRecord(value.configurable)
}
