/** The edge's one table: which names answer, who may call them, and which units serve them. Pure. */
import { preflightRule } from "@superstep/toolkit/http/cross-origin"
import { z } from "zod"

// Unreserved characters of a URL only: a name is compared as it stands in the path, and is never decoded.
const routeName = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/

const unit = z.object({
  unit_id: z.string().min(1),
  /** The kernel takes 107 bytes at most. */
  socket_path: z.string().startsWith("/").max(100),
  /** Becomes a header's value. */
  token: z.string().regex(/^[\x21-\x7e]+$/, "expected visible ASCII characters"),
})

const keyHash = z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in lower-case hex")

const route = z.object({
  name: z.string().regex(routeName, "expected letters, digits and . _ ~ -"),
  deployment_id: z.string().min(1),
  revision_id: z.string().min(1),
  /** SHA-256 of each key that may run the agent, in hex. An empty list lets nobody in. */
  keys: z.array(keyHash),
  /** The same of each key that may only read. A table of an older release has no such list, and all keys in `keys`. */
  read_keys: z.array(keyHash).optional(),
  /**
   * serving: requests go to its units; held: they wait until it is awake; paused, and full (it sleeps,
   * and there is no room to wake it): they are refused.
   */
  state: z.enum(["serving", "held", "paused", "full"]).default("serving"),
  /** More requests than this within a second are refused; without it, none are. */
  max_requests_per_second: z.number().positive().optional(),
  /** What preflights are answered by; without it only the units can tell. */
  cors: preflightRule.optional(),
  units: z.array(unit),
  /** Asked when none of `units` can be reached: the units that served before, as long as the new ones are watched. */
  standby: z.array(unit).default([]),
})

export const tableSchema = z
  .object({ generation: z.number().int().min(0), routes: z.array(route) })
  .superRefine(({ routes }, context) => {
    const names = new Set<string>()
    routes.forEach(({ name }, index) => {
      if (names.has(name))
        context.addIssue({ code: "custom", message: `${name} is there twice`, path: ["routes", index] })
      names.add(name)
    })
  })

export type Unit = Readonly<z.infer<typeof unit>>
export type Route = Readonly<z.infer<typeof route>>
export type Table = Readonly<z.infer<typeof tableSchema>>

/** What an edge that was never told anything knows. */
export const emptyTable: Table = { generation: 0, routes: [] }

/** A table made ready for requests. */
export interface RoutingTable {
  readonly table: Table
  readonly generation: number
  /** The route that answers below `/d/<name>`. */
  find(name: string): Route | undefined
  readonly saysRights: boolean
  /** Whether requests for this deployment wait. */
  isHeld(deploymentId: string): boolean
  /** Every unit that may get new requests. */
  readonly units: readonly Unit[]
}

/** Whether a table tells what each key may do: that of an older release does not. */
export const saysRights = ({ routes }: Table): boolean => routes.every(({ read_keys }) => read_keys !== undefined)

export function indexTable(table: Table): RoutingTable {
  const byName = new Map(table.routes.map((entry) => [entry.name, entry]))
  const held = new Set(table.routes.filter(({ state }) => state === "held").map((entry) => entry.deployment_id))
  return {
    table,
    generation: table.generation,
    find: (name) => byName.get(name),
    saysRights: saysRights(table),
    isHeld: (deploymentId) => held.has(deploymentId),
    units: table.routes.flatMap(({ units, standby }) => [...units, ...standby]),
  }
}
