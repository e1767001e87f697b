/** What a project says about its store (`store` of langgraph.json, agent-server-api §17). */
import type { Database } from "@superstep/toolkit/db/database"
import type { Project } from "../project/langgraph-config.js"

export interface StoreTtl {
  /** Minutes of an item that was put without saying; undefined: it stays. */
  readonly defaultMinutes: number | undefined
  /** Whether reading an item lets its time begin anew. */
  readonly refreshOnRead: boolean
  /** Undefined: nothing is swept. Items whose time is over are not found all the same. */
  readonly sweepMinutes: number | undefined
}

/** How items are made searchable by meaning. */
export interface StoreIndex {
  /** `file:function` or `provider:model`. */
  readonly embed: string
  /** Length of every vector. */
  readonly dims: number
  /** Paths of the texts that are embedded, unless a put names others. */
  readonly fields: readonly string[]
}

/** Makes vectors. @throws EmbeddingFailed */
export type Embed = (index: StoreIndex, texts: readonly string[]) => Promise<readonly (readonly number[])[]>

/** What the operations stand on. */
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
