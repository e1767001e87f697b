/** A worker's settings from its environment; only this file reads them. */

export interface WorkerConfig {
  /** Path of the Unix socket to connect to. */
  readonly socketPath: string
  /** The worker's name in `hello` and in the server's log. */
  readonly workerId: string
  /** The title of the process in the process table. */
  readonly title: string | undefined
}

/** @throws  an error that names every missing variable */
export function readConfig(env: Readonly<Record<string, string | undefined>>): WorkerConfig {
  const { SUPERSTEP_WORKER_SOCKET: socketPath, SUPERSTEP_WORKER_ID: workerId, SUPERSTEP_WORKER_TITLE: title } = env
  if (socketPath !== undefined && workerId !== undefined) return { socketPath, workerId, title }
  const missing = ["SUPERSTEP_WORKER_SOCKET", "SUPERSTEP_WORKER_ID"].filter((name) => env[name] === undefined)
  throw new Error(`a worker is started by an agent server: ${missing.join(" and ")} is not set`)
}
