/** Brings the items of a store from one agent server to another. An item that is there already is never changed, unless that is asked for. */
import { type AgentApi, unlessMissing } from "./agent-api.js"
import { every, pageSize } from "./every.js"
import { sameJson } from "./same-json.js"
import type { Outcome } from "./threads.js"

export interface StoreItem {
  readonly namespace: readonly string[]
  readonly key: string
  readonly value: unknown
}

/** All items, namespace by namespace. */
export async function* itemsOf(from: AgentApi): AsyncGenerator<StoreItem> {
  const namespaces = async (offset: number): Promise<string[][]> =>
    (await from.send("POST", "/store/namespaces", { limit: pageSize, offset })).namespaces
  for await (const namespace of every(namespaces, (names) => JSON.stringify(names))) {
    const search = { namespace_prefix: namespace, limit: pageSize }
    // Servers sort them by their last change.
    const items = async (offset: number): Promise<StoreItem[]> =>
      (await from.send("POST", "/store/items/search", { ...search, offset })).items
    // The search finds those of namespaces below this one too.
    for await (const item of every(items, (it) => JSON.stringify([it.namespace, it.key])))
      if (item.namespace.length === namespace.length) yield item
  }
}

export const shownItem = ({ namespace, key }: StoreItem): string => `${namespace.join(".")} ${key}`

/** @throws AgentRefused | AgentAway */
export async function importItem(
  { to, replaces }: { readonly to: AgentApi; readonly replaces: boolean },
  { namespace, key, value }: StoreItem,
): Promise<Outcome> {
  const query = new URLSearchParams({ namespace: namespace.join("."), key })
  const found = await unlessMissing(to.send("GET", `/store/items?${query}`))
  if (found && sameJson(found.value, value)) return { kind: "there" }
  if (found && !replaces)
    return {
      kind: "differs",
      why: "the new server has it with another value: it is left as it is; --replace takes the old server's",
    }
  await to.send("PUT", "/store/items", { namespace, key, value })
  return { kind: "imported", checkpoints: 0, notes: [] }
}
