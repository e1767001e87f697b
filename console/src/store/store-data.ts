/** The items of an agent's store, through the public API. */
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { everyMs, refreshMs } from "../requests/query-client.js"
import { readToEnd } from "../requests/read-to-end.js"
import { type ItemPlace, itemId, itemLimit, namespaceLimit, type StoreItem } from "./namespaces.js"

export const namespaceSearch = (offset = 0) => ({ limit: namespaceLimit, offset })

export const itemSearch = (namespace: readonly string[], query: string, offset = 0) => ({
  namespace_prefix: namespace,
  limit: itemLimit,
  offset,
  // Looking at an item is no use of it that should prolong its life.
  refresh_ttl: false,
  ...(query !== "" && { query }),
})

function useSend() {
  const agent = useAgent()
  return async <Reply>(method: string, path: string, body?: unknown): Promise<Reply> =>
    (await jsonOf(
      await agent.fetch(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    )) as Reply
}

/** @param pages  how many pages of them */
export function useNamespaces(pages: number): readonly (readonly string[])[] {
  const { url } = useAgent()
  const send = useSend()
  const { data } = useSuspenseQuery({
    queryKey: ["store", url, "namespaces", pages],
    queryFn: () =>
      readToEnd<string[]>({
        pageSize: namespaceLimit,
        mostPages: pages,
        idOf: (labels) => JSON.stringify(labels),
        read: async (offset) =>
          (await send<{ namespaces: string[][] }>("POST", "/store/namespaces", namespaceSearch(offset))).namespaces,
      }),
    refetchInterval: everyMs(pages),
  })
  return data
}

/** @param pages  how many pages of them */
export function useItems(namespace: readonly string[], query: string, pages: number): readonly StoreItem[] {
  const { url } = useAgent()
  const send = useSend()
  const { data } = useSuspenseQuery({
    queryKey: ["store", url, "items", namespace, query, pages],
    queryFn: () =>
      readToEnd<StoreItem>({
        pageSize: itemLimit,
        mostPages: pages,
        idOf: itemId,
        read: async (offset) =>
          (await send<{ items: StoreItem[] }>("POST", "/store/items/search", itemSearch(namespace, query, offset)))
            .items,
      }),
    // A search by meaning calls the project's embedding each time.
    refetchInterval: query === "" && everyMs(pages),
  })
  return data
}

/** One item, also if no list has it; null if it does not exist. @param listed  what is shown until it was read */
export function useItem({ namespace, key }: ItemPlace, listed: StoreItem | undefined) {
  const { url } = useAgent()
  const send = useSend()
  const query = new URLSearchParams({ namespace: namespace.join("."), key, refresh_ttl: "false" })
  return useQuery({
    queryKey: ["store", url, "item", namespace, key],
    queryFn: () => send<StoreItem | null>("GET", `/store/items?${query}`),
    initialData: listed,
    initialDataUpdatedAt: 0,
    refetchInterval: refreshMs,
  })
}

export interface PutItem extends ItemPlace {
  readonly value: unknown
  /** The value that it replaces; null: none. Refused if another one is stored. */
  readonly if_value: unknown
}

export function useStoreActions() {
  const { url } = useAgent()
  const send = useSend()
  const queries = useQueryClient()
  const readAgain = () => queries.invalidateQueries({ queryKey: ["store", url] })
  return {
    put: useMutation({
      mutationFn: (item: PutItem) => send("PUT", "/store/items", item),
      onSuccess: readAgain,
      // It may be refused since others changed the item.
      onError: () => void readAgain(),
    }),
    remove: async ({ namespace, key }: ItemPlace, onDeleted: () => void) => {
      await send("DELETE", "/store/items", { namespace, key })
      onDeleted()
      await readAgain()
    },
  }
}
