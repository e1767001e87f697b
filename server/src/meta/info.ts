/** What `/info` says: a flag is true only for what is there (agent-server-api §3, protocol-v2 §2.5). Pure. */
import type { LoadReport } from "../workers/port.js"

export interface InfoParts {
  readonly version: string
  readonly report: LoadReport
  readonly tracesToLangsmith: boolean
}

// The release of LangGraph's server whose API this is: Studio turns features off for one that says less than 0.4.
const apiVersion = "1.5.1"

export function renderInfo({ version, report, tracesToLangsmith }: InfoParts): object {
  const { javascript, python } = report.langgraph ?? {}
  return {
    version: apiVersion,
    ...(javascript !== undefined && { langgraph_js_version: javascript }),
    ...(python !== undefined && { langgraph_py_version: python }),
    // `context` names the kind of server for LangGraph's clients.
    context: "js",
    flags: {
      assistants: true,
      crons: true,
      langsmith: tracesToLangsmith,
      langsmith_tracing_replicas: false,
      stream_namespaces: true,
    },
    metadata: { server: "superstep", server_version: version },
  }
}

const keys = ["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"]
const switches = ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"]

/** As LangGraph's servers see it: there is a key, and nothing switches tracing off (agent-server-api §3). */
export const isTracedToLangsmith = (env: Readonly<Record<string, string>>): boolean =>
  keys.some((name) => env[name]) && !switches.some((name) => /^false$/i.test(env[name] ?? ""))
