/** The environment of a worker. Pure. */

// What a Node process needs to find programs, write temporary files, use the right language and trust a company's
// certificates. No other variable of the server reaches user code, above all no database URL (D12).
const inherited = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]

// Else LangChain for JavaScript calls the handlers of a project, and LangGraph's own of messages, from one queue of the process, later than what they
// report (docs/decisions/0089).
const defaults = { LANGCHAIN_CALLBACKS_BACKGROUND: "false" }

/** The environment of a process that handles the project's files; a worker's also has its socket and name. */
export function projectEnv(
  serverEnv: NodeJS.ProcessEnv,
  agentEnv: Readonly<Record<string, string>>,
): Record<string, string> {
  const passedOn = inherited.flatMap((name) => {
    const value = serverEnv[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(passedOn), ...defaults, ...agentEnv }
}

/**
 * @param serverEnv  this process's environment, of which only a few variables are passed on
 * @param agentEnv   the agent's own environment
 * @param title      the title of the process in the process table
 */
export function workerEnv(
  serverEnv: NodeJS.ProcessEnv,
  agentEnv: Readonly<Record<string, string>>,
  { socketPath, workerId, title }: { socketPath: string; workerId: string; title: string },
): Record<string, string> {
  return {
    ...projectEnv(serverEnv, agentEnv),
    SUPERSTEP_WORKER_SOCKET: socketPath,
    SUPERSTEP_WORKER_ID: workerId,
    SUPERSTEP_WORKER_TITLE: title,
  }
}
