/** The body of `/info`. A flag is true only for a feature that this server has (agent-server-api §3, protocol-v2 §2.5). Pure. */
import type { LoadReport } from "../workers/port.js"

export interface InfoParts {
  readonly version: string
  readonly report: LoadReport
  readonly tracesToLangsmith: boolean
}

// The release of LangGraph's server whose API we implement. Studio disables features when this is below 0.4.
const apiVersion = "1.5.1"

/** The first releases with `strict_resume` (upstream-2026-11 §2.1, §5). */
const strictResumeSince = { javascript: "1.7.0", python: "1.2.22" } as const

export function renderInfo({ version, report, tracesToLangsmith }: InfoParts): object {
  const { failed } = report
  const { javascript, python } = report.langgraph ?? {}
  return {
    version: apiVersion,
    ...(javascript !== undefined && { langgraph_js_version: javascript }),
    ...(python !== undefined && { langgraph_py_version: python }),
    // LangGraph's clients use `context` to recognize the kind of server.
    context: "js",
    flags: {
      assistants: true,
      crons: true,
      langsmith: tracesToLangsmith,
      langsmith_tracing_replicas: false,
      stream_namespaces: true,
      strict_resume: canResumeStrictly(report.langgraph ?? {}),
    },
    metadata: {
      server: "superstep",
      server_version: version,
      ...(failed.length > 0 && { failed_graphs: failed.map(({ graphId }) => graphId) }),
    },
  }
}

/** True when every loaded LangGraph library supports it, since the flag applies to all graphs. */
function canResumeStrictly(loaded: NonNullable<LoadReport["langgraph"]>): boolean {
  const versions = (["javascript", "python"] as const).flatMap((language) => {
    const version = loaded[language]
    return version === undefined ? [] : [{ version, least: strictResumeSince[language] }]
  })
  return versions.length > 0 && versions.every(({ version, least }) => isSince(version, least))
}

function isSince(version: string, least: string): boolean {
  const [have = [], wanted = []] = [version, least].map((text) =>
    text.split(".").map((part) => Number.parseInt(part, 10)),
  )
  const index = wanted.findIndex((part, at) => have[at] !== part)
  return index === -1 || Number(have[index]) > Number(wanted[index])
}

const keyNames = ["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"]
const tracingSwitches = ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"]

/** The rule of LangGraph's servers: a key is set, and no tracing variable is "false" (agent-server-api §3). */
export const isTracedToLangsmith = (env: Readonly<Record<string, string>>): boolean =>
  keyNames.some((name) => env[name]) && !tracingSwitches.some((name) => /^false$/i.test(env[name] ?? ""))
