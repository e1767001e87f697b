/** A project's store settings (`store` of langgraph.json, agent-server-api §17). */
import type { Database } from "@superstep/toolkit/db/database"
import type { Project } from "../project/langgraph-config.js"

export interface StoreTtl {
  /** Minutes until an item expires that was put without a `ttl`; undefined: never. */
  readonly defaultMinutes: number | undefined
  /** Whether reading an item restarts its time to live. */
  readonly refreshOnRead: boolean
  /** Minutes between sweeps. Undefined: no sweeps; expired items are still not found. */
  readonly sweepMinutes: number | undefined
}

/** How items are made searchable by meaning. */
export interface StoreIndex {
  /** `file:function` or `provider:model`. */
  readonly embed: string
  /** Number of dimensions of every vector. */
  readonly dims: number
  /** Paths of the texts to embed, unless a put names others. */
  readonly fields: readonly string[]
}

/** Makes vectors. @throws EmbeddingFailed */
export type Embed = (index: StoreIndex, texts: readonly string[]) => Promise<readonly (readonly number[])[]>

/** What the operations need. */
export interface Store {
  readonly db: Database
  readonly ttl: StoreTtl
  /** Undefined: a search ignores its query. */
  readonly index: StoreIndex | undefined
  readonly embed: Embed
}

export function storeSettings({ index, ttl }: Project["store"]): Pick<Store, "index" | "ttl"> {
  return {
    index: index && { embed: index.embed, dims: index.dims, fields: index.fields ?? ["$"] },
    ttl: {
      defaultMinutes: ttl?.default_ttl ?? undefined,
      refreshOnRead: ttl?.refresh_on_read ?? true,
      sweepMinutes: ttl?.sweep_interval_minutes ?? undefined,
    },
  }
}
