/** Callers with access rules. */
import type { Caller, User } from "../auth/caller.js"
import type { MetadataFilter } from "../auth/metadata-filter.js"

interface Requested {
  readonly namespace?: unknown
  readonly metadata?: object
}

/** @param rewrite  the value that the rule makes of the request, by its event */
export const callerWith = (
  filter: MetadataFilter | undefined,
  rewrite: (value: Requested, event: string) => object | Promise<object> = (value) => value,
  user?: User,
): Caller => ({
  user,
  authorize: async (event, value) => ({ value: (await rewrite(value, event)) as typeof value, filter }),
})

/** The common rule of LangGraph's SDKs: users own what they create and see nothing else. @param events  takes what it is asked for */
export function ownerOf(identity: string, events: string[] = []): Caller {
  const own = (value: Requested, event: string) => {
    events.push(event)
    const writes = /:(create|update|create_run)$/.test(event)
    return writes ? { ...value, metadata: { ...value.metadata, owner: identity } } : value
  }
  const user = { identity, display_name: identity, is_authenticated: true, permissions: ["runs"], team: "blue" }
  return callerWith({ owner: identity }, own, user)
}
