/** Which interrupts of a checkpoint still wait for an answer. Pure. */

/** Writes that record what happened to a task. Every other write is output, also the marker of a task without output. */
const controlChannels: ReadonlySet<string> = new Set([
  "__error__",
  "__error_source_node__",
  "__interrupt__",
  "__resume__",
])

/**
 * Pending writes without the interrupts of finished tasks. While another task of the step still waits, LangGraph keeps all writes
 * of the step, including the answered interrupt, and LangGraph JS reports it as open.
 * @see  langgraph 1.2 for Python, `pregel/_task_status.py`, which has the same rule
 */
export function withoutAnswered<Write extends { readonly taskId: string; readonly channel: string }>(
  writes: readonly Write[],
): readonly Write[] {
  const finished = new Set(writes.filter(({ channel }) => !controlChannels.has(channel)).map(({ taskId }) => taskId))
  return writes.filter(({ taskId, channel }) => channel !== "__interrupt__" || !finished.has(taskId))
}
