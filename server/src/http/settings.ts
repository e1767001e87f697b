/** Combines `http` of langgraph.json with the environment (agent-server-api §13). Pure. */
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import type { LanggraphJson } from "../project/langgraph-json.js"
import { headerChoice } from "./chosen-headers.js"
import type { CrossOrigin } from "./cross-origin.js"
import { type DisableFlag, disableFlags } from "./disabled.js"

export interface HttpSettings {
  /** The path prefix of all routes: empty, or `/path`. */
  readonly mountPrefix: string
  readonly crossOrigin: CrossOrigin
  readonly disabled: readonly DisableFlag[]
  /** Headers that a run's graph reads as `config.configurable`. */
  readonly configurableHeaders: ((headers: Headers) => Record<string, string>) | undefined
  /** Headers that the request log includes. */
  readonly loggingHeaders: ((headers: Headers) => Record<string, string>) | undefined
}

export interface HttpEnvironment {
  readonly isDev: boolean
  readonly mountPrefix: string | undefined
  readonly corsAllowOrigins: readonly string[] | undefined
}

/** The project's settings win over the environment's, which apply to all projects of an operator (§13.3). */
export function httpSettings(
  http: NonNullable<LanggraphJson["http"]>,
  { isDev, mountPrefix, corsAllowOrigins }: HttpEnvironment,
): HttpSettings {
  const { cors = {} } = http
  const pattern = cors.allow_origin_regex === undefined ? undefined : new RegExp(`^(?:${cors.allow_origin_regex})$`)
  return {
    mountPrefix: withoutEnd(http.mount_prefix ?? mountPrefix ?? "", "/"),
    crossOrigin: {
      // A pattern wins over a list (§13.3).
      origins: { isDev, pattern, allowed: pattern ? undefined : (cors.allow_origins ?? corsAllowOrigins) },
      methods: cors.allow_methods,
      headers: cors.allow_headers,
      exposed: cors.expose_headers ?? [],
      credentials: cors.allow_credentials ?? false,
      maxAgeSeconds: cors.max_age,
    },
    disabled: disableFlags.filter((flag) => http[flag] === true),
    configurableHeaders: headerChoice(http.configurable_headers ?? http["configurable-headers"]),
    loggingHeaders: headerChoice(http.logging_headers ?? http["logging-headers"]),
  }
}
