/** What a worker's environment holds. Pure. */

// What a Node process needs to find programs, write temporary files, speak the right language and trust a company's
// certificates. Nothing else of the server's own environment reaches user code: above all no database address (D12).
const inherited = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]

/** The environment of a process that handles the project's files: a worker has its address besides. */
export function projectEnv(
  serverEnv: NodeJS.ProcessEnv,
  agentEnv: Readonly<Record<string, string>>,
): Record<string, string> {
  const passedOn = inherited.flatMap((name) => {
    const value = serverEnv[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(passedOn), ...agentEnv }
}

/**
 * @param serverEnv  this process's environment, of which only a few names are passed on
 * @param agentEnv   the agent's own environment
 */
export function workerEnv(
  serverEnv: NodeJS.ProcessEnv,
  agentEnv: Readonly<Record<string, string>>,
  { socketPath, workerId }: { socketPath: string; workerId: string },
): Record<string, string> {
  return {
    ...projectEnv(serverEnv, agentEnv),
    SUPERSTEP_WORKER_SOCKET: socketPath,
    SUPERSTEP_WORKER_ID: workerId,
  }
}
