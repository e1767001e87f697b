/** The metadata that a checkpoint stores about the run that made it. */
import type { RunnableConfig } from "../loading/langgraph.js"

/** LangGraph's internal values: of the running node, valid only while it runs; and of the checkpoint's delta channels. */
const notKept = new Set([
  "counters_since_delta_snapshot",
  "delta_writes_versioned",
  "checkpoint_id",
  "checkpoint_ns",
  "checkpoint_map",
  "langgraph_checkpoint_ns",
  "langgraph_node",
  "langgraph_path",
  "langgraph_step",
  "langgraph_triggers",
])

/**
 * The run's config metadata and its scalar configurable values, then LangGraph's own `source`, `step`, `parents`.
 * By `run_id` a repeated attempt sees that its input is already applied: without it LangGraph JS applies a re-sent input
 * twice (measured, architecture D7).
 * @see protocol-v2 §3.2 and the `metadata` in recordings/interrupt-state.txt
 */
export function checkpointMetadata(
  config: RunnableConfig,
  metadata: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const kept = Object.entries(config.configurable ?? {}).filter(([key, value]) => isPublic(key) && isScalar(value))
  const told = Object.entries(config.metadata ?? {}).filter(([key]) => isPublic(key))
  return { ...Object.fromEntries(kept), ...Object.fromEntries(told), ...metadata }
}

function isPublic(key: string): boolean {
  return !key.startsWith("__") && !notKept.has(key)
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value)
}
