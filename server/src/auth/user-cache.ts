/** Answers of `authenticate` that are kept for a while (`auth.cache` of langgraph.json). */
import type { User } from "./caller.js"

export interface UserCacheSettings {
  /** Headers that tell one caller from another. */
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
  /** Oldest first: a map keeps the order in which it was filled. */
  readonly #entries = new Map<string, Entry>()

  /** @param now  milliseconds, of any beginning */
  constructor({ cache_keys, ttl_seconds, max_size }: UserCacheSettings, now: () => number = () => performance.now()) {
    this.#names = (cache_keys ?? []).map((name) => name.toLowerCase())
    // A minute: whoever turns the cache on and says no more still sees a revoked token refused soon.
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

  /** Undefined for a request that shows none of the headers: it could be anybody's. */
  #keyOf(headers: Headers): string | undefined {
    const values = this.#names.map((name) => headers.get(name))
    return values.every((value) => value === null) ? undefined : JSON.stringify(values)
  }
}
