/** The edge's table: which names exist, which keys may call them, and which units serve them. Pure. */
import { isAddress, unixAddress } from "@superstep/protocol/http/address"
import { preflightRule } from "@superstep/toolkit/http/cross-origin"
import { z } from "zod"

// Unreserved characters of a URL only: a name is compared as it appears in the path, and is never decoded.
const routeName = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/

const ownUnit = z.object({
  unit_id: z.string().min(1),
  /** The kernel's limit for the path of a Unix socket is 107 bytes. */
  address: z.string().max(300).refine(isAddress, "expected unix:<path> or http://<host>:<port>"),
  /** Used as a header's value. */
  token: z.string().regex(/^[\x21-\x7e]+$/, "expected visible ASCII characters"),
})

/** In tables of older releases, units have the path of a Unix socket. */
const formerUnit = ownUnit
  .omit({ address: true })
  .extend({ socket_path: z.string().startsWith("/").max(100) })
  .transform(({ socket_path, ...others }) => ({ ...others, address: unixAddress(socket_path) }))

const unit = z.union([ownUnit, formerUnit])

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in lower-case hex")

const hostName = z.string().regex(/^[a-z0-9.-]+$/, "expected a host name in lower case")

const route = z.object({
  name: z.string().regex(routeName, "expected letters, digits and . _ ~ -"),
  deployment_id: z.string().min(1),
  revision_id: z.string().min(1),
  /** SHA-256 of each key that may run the agent, in hex. An empty list admits no key. */
  keys: z.array(sha256),
  /** SHA-256 of each key that may only read. A table of an older release lacks this list and has all keys in `keys`. */
  read_keys: z.array(sha256).optional(),
  /** Verifies agent tokens of this deployment, in hex. Without it none is accepted. */
  token_key: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "expected 32 bytes in hex")
    .optional(),
  /**
   * serving: requests go to its units; held: they wait until it is awake; paused: they are refused; full: it sleeps and there
   * is no room to wake it, so they are refused.
   */
  state: z.enum(["serving", "held", "paused", "full"]).default("serving"),
  /** Requests above this rate are refused; without it there is no limit. */
  max_requests_per_second: z.number().positive().optional(),
  /** How preflights are answered here; without it the units answer them. */
  cors: preflightRule.optional(),
  units: z.array(unit),
  /** Host names whose requests are all for this route. */
  host_names: z.array(z.object({ name: hostName, certificate: sha256.optional() })).optional(),
  /** Used when none of `units` can be reached: the units that served before, while the new ones are watched. */
  standby: z.array(unit).default([]),
})

const challenge = z.object({
  host_name: hostName,
  token: z.string().regex(/^[\w-]+$/, "expected base64url"),
  key_authorization: z.string().regex(/^[\w.-]+$/, "expected base64url"),
})

export const tableSchema = z
  .object({
    generation: z.number().int().min(0),
    routes: z.array(route),
    /** Where the console is served: its pages may call every route, whatever the project's own rules say. */
    console_origins: z.array(z.string().max(300)).optional(),
    /** What is answered to a certificate authority that verifies a host name (RFC 8555 §8.3). */
    challenges: z.array(challenge).optional(),
  })
  .superRefine(({ routes }, context) => {
    const names = new Set<string>()
    routes.forEach(({ name }, index) => {
      if (names.has(name))
        context.addIssue({ code: "custom", message: `duplicate route ${name}`, path: ["routes", index] })
      names.add(name)
    })
    const hosts = routes.flatMap(({ host_names = [] }) => host_names.map(({ name }) => name))
    if (new Set(hosts).size < hosts.length)
      context.addIssue({ code: "custom", message: "a host name belongs to two routes", path: ["routes"] })
  })

export type Unit = Readonly<z.infer<typeof unit>>
export type Route = Readonly<z.infer<typeof route>>
export type Table = Readonly<z.infer<typeof tableSchema>>

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
