/** The edge's table: which names exist, which keys may call them, and which units serve them. Pure. */
import type * as sent from "@superstep/protocol/edge/table"
import { Table as receivesTable } from "@superstep/protocol/edge/validators"
import type { Address } from "@superstep/protocol/http/address"
import { type Received, received } from "@superstep/protocol/schemas/received"

export interface Unit extends sent.Unit {
  readonly address: Address
}

export interface Route extends sent.Route {
  readonly units: readonly Unit[]
  readonly standby: readonly Unit[]
}

export interface Table extends sent.Table {
  readonly routes: readonly Route[]
}

/**
 * @param value  a parsed JSON value; fields that a table does not have are removed from it
 * @returns      the table, or its first problem
 */
export function readTable(value: unknown): Received<Table> {
  const read = received<Table>(receivesTable, value)
  if ("problem" in read) return read
  const { routes } = read.message
  const name = repeated(routes.map((route) => [route.name]))
  if (name) return { problem: { path: ["routes", String(name.at)], message: `duplicate route ${name.text}` } }
  const host = repeated(routes.map(({ host_names = [] }) => host_names.map((it) => it.name)))
  if (host)
    return {
      problem: { path: ["routes", String(host.at)], message: `the host name ${host.text} belongs to two routes` },
    }
  return read
}

/** The first text that is in the lists a second time, and in which of them. */
function repeated(lists: readonly (readonly string[])[]): { readonly text: string; readonly at: number } | undefined {
  const known = new Set<string>()
  for (const [at, texts] of lists.entries())
    for (const text of texts) {
      if (known.has(text)) return { text, at }
      known.add(text)
    }
  return undefined
}

/** The table of an edge that has got none yet. */
export const emptyTable: Table = { generation: 0, routes: [] }

/** A table indexed for requests. */
export interface RoutingTable {
  readonly table: Table
  readonly generation: number
  /** The route that answers below `/d/<name>`. */
  find(name: string): Route | undefined
  /** The route that has this host name. @param host  in lower case, without port */
  findByHost(host: string): Route | undefined
  /** Whether the console is served at this origin. */
  isConsole(origin: string | undefined): boolean
  /** The certificate of a host name that has one. */
  certificateOf(host: string): string | undefined
  /** The answer to an authority; undefined for a token that is not of this host name. */
  challengeAnswer(host: string, token: string): string | undefined
  /** Whether the name is routed, or being verified. */
  isOwnHost(host: string): boolean
  readonly hasKeyRights: boolean
  /** Whether requests for this deployment wait. */
  isHeld(deploymentId: string): boolean
  /** Every unit that may get new requests. */
  readonly units: readonly Unit[]
}

/** Returns whether a table has the rights of each key: that of an older release has not. */
export const hasKeyRights = ({ routes }: Table): boolean => routes.every(({ read_keys }) => read_keys !== undefined)

export function indexTable(table: Table): RoutingTable {
  const byName = new Map(table.routes.map((entry) => [entry.name, entry]))
  const byHost = new Map(
    table.routes.flatMap((entry) => (entry.host_names ?? []).map(({ name }) => [name, entry] as const)),
  )
  const challenges = table.challenges ?? []
  const held = new Set(table.routes.filter(({ state }) => state === "held").map((entry) => entry.deployment_id))
  return {
    table,
    generation: table.generation,
    find: (name) => byName.get(name),
    findByHost: (host) => byHost.get(host),
    isConsole: (origin) => origin !== undefined && (table.console_origins ?? []).includes(origin),
    certificateOf: (host) => byHost.get(host)?.host_names?.find(({ name }) => name === host)?.certificate,
    challengeAnswer: (host, token) =>
      challenges.find((it) => it.host_name === host && it.token === token)?.key_authorization,
    isOwnHost: (host) => byHost.has(host) || challenges.some(({ host_name }) => host_name === host),
    hasKeyRights: hasKeyRights(table),
    isHeld: (deploymentId) => held.has(deploymentId),
    units: table.routes.flatMap(({ units, standby }) => [...units, ...standby]),
  }
}
