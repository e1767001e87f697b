/** What is killed or disturbed, and at which moment of a run. */
export const targets = ["worker", "server", "postgres"] as const
/** What else happens to more than two servers: they sleep longer than their leases, or lose their way to Postgres. */
export const disturbances = ["paused server", "network", "paused worker"] as const
export type Target = (typeof targets)[number] | (typeof disturbances)[number]

/**
 * - `random`: whenever it happens to be.
 * - `before the first checkpoint`: the run executes and its first checkpoint waits for a lock of the test.
 * - `before its events are committed`: the run executes, and its events wait for a lock of the test.
 * - `while streaming`: a client has got tokens of a super-step that is not over.
 * - `between checkpoint and status`: the last checkpoint is saved, and the worker has not yet said that it is done.
 * - `during the final write`: the statement that writes the run's end waits for a lock of the test.
 * - `while draining`: the server was told to stop and lets its runs end.
 */
export const points = [
  "random",
  "before the first checkpoint",
  "before its events are committed",
  "while streaming",
  "between checkpoint and status",
  "during the final write",
  "while draining",
] as const
export type Point = (typeof points)[number]

export interface Kill {
  readonly target: Target
  readonly point: Point
}
