/** The containers of an installation in an engine: found by their label, never by their name alone. */

import { labels } from "./container.js"
import type { Engine } from "./engine.js"

export interface FoundContainer {
  readonly id: string
  readonly unitId: string
  readonly createdSeconds: number
  /** `created`, `running`, `exited`, … */
  readonly state: string
  /** Whether the engine limits its memory. */
  readonly isLimited: boolean
  /** Whether it runs an image of somebody else, and so has a companion. */
  readonly isGuest: boolean
}

export interface InspectedContainer {
  readonly State: {
    readonly Running: boolean
    readonly Pid: number
    readonly OOMKilled: boolean
    readonly StartedAt: string
  }
  readonly HostConfig: { readonly Memory: number }
}

export interface Measured {
  readonly cpuSeconds: number
  readonly memoryBytes: number
}

interface Listed {
  readonly Id: string
  readonly Created: number
  readonly State: string
  readonly Labels: Readonly<Record<string, string>>
}

interface Stats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } }
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> }
}

// A container has this long to exit after it was killed.
const stopMs = 60_000

export type Containers = ReturnType<typeof containersOf>

/** @param homeId  of the installation */
export function containersOf(engine: Engine, homeId: string) {
  const list = async (wanted: string): Promise<FoundContainer[]> => {
    const label = [`${labels.home}=${homeId}`, wanted]
    const query = { all: "1", filters: JSON.stringify({ label }) }
    const { body } = await engine.json<readonly Listed[]>("/containers/json", { query })
    return body.map(({ Id, Created, State, Labels }) => ({
      id: Id,
      createdSeconds: Created,
      unitId: Labels[labels.unit] ?? "",
      state: State,
      isLimited: labels.memoryMb in Labels,
      isGuest: labels.guest in Labels,
    }))
  }
  const inspect = async (id: string): Promise<InspectedContainer | undefined> => {
    const { status, body } = await engine.json<InspectedContainer>(`/containers/${id}/json`, { also: [404] })
    return status === 404 ? undefined : body
  }
  return {
    /** Those of units. */
    list: () => list(labels.unit),
    find: async (unitId: string): Promise<FoundContainer | undefined> => (await list(`${labels.unit}=${unitId}`))[0],
    companionOf: async (unitId: string): Promise<FoundContainer | undefined> =>
      (await list(`${labels.companion}=${unitId}`))[0],
    inspect,
    /** @returns  its id; undefined when one of this name exists */
    create: async (name: string, body: unknown): Promise<string | undefined> => {
      const { status, body: created } = await engine.json<{ Id: string }>("/containers/create", {
        method: "POST",
        query: { name },
        body,
        also: [409],
      })
      return status === 409 ? undefined : created.Id
    },
    /** Does nothing when it runs. */
    start: async (id: string) => void (await engine.json(`/containers/${id}/start`, { method: "POST" })),
    /** Resolves when it has ended, or does not exist. */
    stop: async (id: string, graceMs: number) => {
      const query = { t: String(Math.ceil(graceMs / 1000)) }
      // The engine answers when it has stopped.
      const silenceMs = graceMs + stopMs
      await engine.json(`/containers/${id}/stop`, { method: "POST", query, also: [404], silenceMs })
    },
    /** Resolves when all its processes have ended. */
    kill: async (id: string) => {
      const killed = await engine.json(`/containers/${id}/kill`, { method: "POST", also: [404, 409] })
      if (killed.status === 204) await engine.json(`/containers/${id}/wait`, { method: "POST", also: [404] })
    },
    remove: async (id: string) => {
      await engine.json(`/containers/${id}`, { method: "DELETE", query: { force: "1", v: "1" }, also: [404, 409] })
      // Another removal of the same container may be on its way.
      await engine.json(`/containers/${id}/wait`, { method: "POST", query: { condition: "removed" }, also: [404] })
    },
    /** @returns  undefined when it does not run */
    measure: async (id: string): Promise<Measured | undefined> => {
      const query = { stream: "0", "one-shot": "1" }
      const { status, body } = await engine.json<Stats>(`/containers/${id}/stats`, { query, also: [404, 409] })
      return status === 200 ? measuredOf(body) : undefined
    },
  }
}

/** Pure. Memory without the files that the kernel keeps while nobody needs the room, under the names of both versions of control groups. */
export function measuredOf({ cpu_stats, memory_stats }: Stats): Measured | undefined {
  const used = memory_stats?.usage
  if (used === undefined) return undefined
  const files = memory_stats?.stats?.total_inactive_file ?? memory_stats?.stats?.inactive_file ?? 0
  return { cpuSeconds: (cpu_stats?.cpu_usage?.total_usage ?? 0) / 1e9, memoryBytes: Math.max(0, used - files) }
}
