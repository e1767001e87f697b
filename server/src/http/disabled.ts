/** Routes that a project turns off: they are as absent as those of another server (agent-server-api §13.2). */
import { NotFound } from "@superstep/toolkit/errors/errors"
import type { MiddlewareHandler } from "hono"

/** What each flag turns off, by the path that the routes see (`paths.ts`). */
const groups = {
  disable_assistants: /^\/assistants(\/|$)/,
  disable_threads: /^\/threads($|\/(?![^/]+\/(runs|commands|stream)(\/|$)))/,
  // Crons are runs at a later time; commands and streams of a thread are how newer clients create and follow runs.
  disable_runs: /^(\/runs(\/|$)|\/threads\/[^/]+\/(runs|commands|stream)(\/|$))/,
  disable_store: /^\/store(\/|$)/,
  // `/ok` stays: a supervisor asks for it.
  disable_meta: /^\/(info|metrics|docs|openapi\.json)?$/,
  disable_mcp: /^\/mcp(\/|$)/,
  disable_a2a: /^(\/a2a(\/|$)|\/\.well-known\/agent)/,
  disable_ui: /^\/ui(\/|$)/,
} as const

export type DisableFlag = keyof typeof groups
export const disableFlags = Object.keys(groups) as DisableFlag[]

/** Whether a path belongs to a group that is turned off. */
export const isDisabled = (flags: readonly DisableFlag[], path: string): boolean =>
  flags.some((flag) => groups[flag].test(path))

/** Answers as if the routes were not there. */
export const refuseDisabled =
  (flags: readonly DisableFlag[]): MiddlewareHandler =>
  async (c, next) => {
    if (isDisabled(flags, c.req.path)) throw new NotFound("Not Found")
    await next()
  }
