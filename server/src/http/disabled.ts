/** Routes that a project disables. They reply like routes that do not exist (agent-server-api §13.2). */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { MiddlewareHandler } from "hono"

/** The paths that each flag disables, as routes see them (`paths.ts`). */
const groups = {
  disable_assistants: /^\/assistants(\/|$)/,
  disable_threads: /^\/threads($|\/(?![^/]+\/(runs|commands|stream)(\/|$)))/,
  // Includes the queue, crons, which create runs, and the commands and streams of a thread, with which newer clients create runs.
  disable_runs: /^(\/queue$|\/runs(\/|$)|\/threads\/[^/]+\/(runs|commands|stream)(\/|$))/,
  disable_store: /^\/store(\/|$)/,
  // `/ok` stays enabled: supervisors need it.
  disable_meta: /^\/(info|metrics|docs|openapi\.json)?$/,
  disable_mcp: /^\/mcp(\/|$)/,
  disable_a2a: /^(\/a2a(\/|$)|\/\.well-known\/agent)/,
  disable_ui: /^\/ui(\/|$)/,
} as const

export type DisableFlag = keyof typeof groups
export const disableFlags = Object.keys(groups) as DisableFlag[]

/** Whether a path belongs to a group that is disabled. */
export const isDisabled = (flags: readonly DisableFlag[], path: string): boolean =>
  flags.some((flag) => groups[flag].test(path))

/** Replies 404 for disabled routes. */
export const refuseDisabled =
  (flags: readonly DisableFlag[]): MiddlewareHandler =>
  async (c, next) => {
    if (isDisabled(flags, c.req.path)) throw new NotFound("Not Found")
    await next()
  }
