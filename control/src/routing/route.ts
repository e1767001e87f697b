/** What the edges know of a deployment. Pure. */
import type { Route, Unit } from "@superstep/edge/table"
import type { MemberHashes } from "../people/queries.js"
import type { CallerKeys } from "../workspaces/queries.js"
import type { RouteRow } from "./queries.js"

export interface PlacedRow extends RouteRow {
  /** How the unit is reached; undefined when its token cannot be opened: its deployment is routed without it. */
  readonly unit: Unit | undefined
}

export interface RouteParts {
  /** Of one deployment. */
  readonly rows: readonly PlacedRow[]
  /** Hashes of the keys that may call. */
  readonly keys: CallerKeys
  /** Of the people who may. */
  readonly members: MemberHashes
  /** Verifies its agent tokens. */
  readonly tokenKey: string
  /** At which it is reachable, too. */
  readonly hostNames: readonly { readonly host_name: string; readonly certificate_sha256: string | null }[]
  /** For a deployment in production; 0: no limit. */
  readonly requestsPerSecond: number
}

/** @returns  undefined when no revision serves */
export function routeOf({
  rows,
  keys,
  members,
  tokenKey,
  hostNames,
  requestsPerSecond,
}: RouteParts): Route | undefined {
  const serving = rows.filter(({ role }) => role === "serving")
  const row = serving[0]
  if (!row) return undefined
  const units = serving.filter(({ is_ready }) => is_ready).flatMap(({ unit = [] }) => unit)
  return {
    name: row.name,
    deployment_id: row.deployment_id,
    revision_id: row.revision_id,
    keys: [...keys.run, ...members.approve],
    read_keys: [...keys.read, ...members.read],
    ...(members.run.length > 0 && { no_approval_keys: members.run }),
    token_key: tokenKey,
    units,
    standby: rows.filter(({ role }) => role === "standby").flatMap(({ unit = [] }) => unit),
    state: stateOf(row, units.length),
    ...(hostNames.length > 0 && { host_names: hostNames.map(routedName) }),
    ...(row.cross_origin && { cors: row.cross_origin }),
    ...(row.deployment_type === "prod" && requestsPerSecond > 0 && { max_requests_per_second: requestsPerSecond }),
  }
}

const routedName = ({ host_name: name, certificate_sha256: certificate }: RouteParts["hostNames"][number]) => ({
  name,
  ...(certificate !== null && { certificate }),
})

function stateOf({ is_paused, is_refused }: RouteRow, units: number): Route["state"] {
  if (is_paused) return "paused"
  if (units > 0) return "serving"
  return is_refused ? "full" : "held"
}
