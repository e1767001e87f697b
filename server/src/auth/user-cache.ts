/** A cache of users that `authenticate` returned (`auth.cache` of langgraph.json). */
import type { User } from "./caller.js"

export interface UserCacheSettings {
  /** Headers that identify a caller. */
  readonly cache_keys?: readonly string[] | undefined
  readonly ttl_seconds?: number | undefined
  readonly max_size?: number | undefined
}

interface Entry {
  readonly user: User
  readonly until: number
}

export class UserCache {
  readonly #names: readonly string[]
  readonly #ttlMs: number
  readonly #maxSize: number
  readonly #now: () => number
  /** Oldest first: a map keeps insertion order. */
  readonly #entries = new Map<string, Entry>()

  /** @param now  a monotonic clock in milliseconds */
  constructor({ cache_keys, ttl_seconds, max_size }: UserCacheSettings, now: () => number = () => performance.now()) {
    this.#names = (cache_keys ?? []).map((name) => name.toLowerCase())
    // One minute by default, so that a revoked token stops working soon.
    this.#ttlMs = (ttl_seconds ?? 60) * 1000
    this.#maxSize = max_size ?? 1000
    this.#now = now
  }

  get(headers: Headers): User | undefined {
    const key = this.#keyOf(headers)
    const entry = key === undefined ? undefined : this.#entries.get(key)
    return entry !== undefined && entry.until > this.#now() ? entry.user : undefined
  }

  set(headers: Headers, user: User): void {
    const key = this.#keyOf(headers)
    if (key === undefined) return
    this.#entries.delete(key)
    this.#entries.set(key, { user, until: this.#now() + this.#ttlMs })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > this.#maxSize && oldest !== undefined) this.#entries.delete(oldest)
  }

  /** Undefined for a request with none of the headers: it does not identify a caller. */
  #keyOf(headers: Headers): string | undefined {
    const values = this.#names.map((name) => headers.get(name))
    return values.every((value) => value === null) ? undefined : JSON.stringify(values)
  }
}
