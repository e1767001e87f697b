/** What `/info` says: a flag is true only for what is there (agent-server-api §3, protocol-v2 §2.5). Pure. */
import type { LoadReport } from "../workers/port.js"

export interface InfoParts {
  readonly version: string
  readonly report: LoadReport
  readonly tracesToLangsmith: boolean
}

// The release of LangGraph's server whose API this is: Studio turns features off for one that says less than 0.4.
const apiVersion = "1.5.1"

/** The first releases that are known to have `strict_resume` (upstream-2026-11 §2.1, §5). */
const strictResumeSince = { javascript: "1.7.0", python: "1.2.22" } as const

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
      strict_resume: canResumeStrictly(report.langgraph ?? {}),
    },
    metadata: { server: "superstep", server_version: version },
  }
}

/** All libraries that are loaded must have it: the flag names no graph. */
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

const keys = ["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"]
const switches = ["LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"]

/** As LangGraph's servers see it: there is a key, and nothing switches tracing off (agent-server-api §3). */
export const isTracedToLangsmith = (env: Readonly<Record<string, string>>): boolean =>
  keys.some((name) => env[name]) && !switches.some((name) => /^false$/i.test(env[name] ?? ""))
