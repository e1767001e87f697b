/** The filters of the runtime log, in the page's address and in those of the API. Pure. */
import { oneIn, type RawSearch, textIn } from "../frame/search.js"
import { paths } from "../platform/paths.js"

export const levels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const

export interface LogSearch {
  readonly level: (typeof levels)[number] | undefined
  readonly revision: string | undefined
  readonly run: string | undefined
  /** A local time, as the browser's field has it: `2026-01-31T08:00`. Without one, the newest lines are followed. */
  readonly from: string | undefined
  /** Whether lines that Superstep itself wrote are shown. Its warnings and errors always are. */
  readonly platform: "shown" | undefined
  readonly q: string
}

export const searchOf = (raw: RawSearch): LogSearch => ({
  level: oneIn(raw, "level", levels),
  revision: textIn(raw, "revision"),
  run: textIn(raw, "run"),
  from: Number.isNaN(Date.parse(textIn(raw, "from") ?? "")) ? undefined : textIn(raw, "from"),
  platform: oneIn(raw, "platform", ["shown"]),
  q: textIn(raw, "q") ?? "",
})

/** @returns  the log's path and filters for a stream, and the path that reads the same lines once */
export function addressOf(deploymentId: string, { level, revision, run, from, platform, q }: LogSearch) {
  const owner = revision === undefined ? paths.deployment(deploymentId) : paths.revision(deploymentId, revision)
  const filters = new URLSearchParams({
    ...(level && { level }),
    ...(run !== undefined && { run_id: run }),
    ...(q.trim() !== "" && { query: q.trim() }),
    ...(platform === undefined && { hide_platform: "true" }),
  })
  const once = new URLSearchParams({
    deployment_id: deploymentId,
    ...(revision !== undefined && { revision_id: revision }),
    page_size: "100",
    sort_order: from === undefined ? "desc" : "asc",
    ...(from !== undefined && { start_time: new Date(from).toISOString() }),
  })
  return {
    path: `${owner}/logs`,
    query: ["type=deploy", filters.toString()].filter((part) => part !== "").join("&"),
    curlPath: `/v2/deployment-logs?${once}${filters.size > 0 ? `&${filters}` : ""}`,
  }
}
