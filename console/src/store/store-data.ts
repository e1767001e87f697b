/** The items of an agent's store, through the public API. */
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { useAgent } from "../agent/use-agent.js"
import { jsonOf } from "../requests/api-error.js"
import { refreshMs } from "../requests/query-client.js"
import { itemLimit, type StoreItem } from "./namespaces.js"

export const namespaceSearch = { limit: 1000, offset: 0 } as const

export const itemSearch = (namespace: readonly string[], query: string) => ({
  namespace_prefix: namespace,
  limit: itemLimit,
  ...(query !== "" && { query }),
})

function useSend() {
  const agent = useAgent()
  return async <Reply>(method: string, path: string, body: unknown): Promise<Reply> =>
    (await jsonOf(
      await agent.fetch(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    )) as Reply
}

export function useNamespaces(): readonly (readonly string[])[] {
  const { url } = useAgent()
  const send = useSend()
  const { data } = useSuspenseQuery({
    queryKey: ["store-namespaces", url],
    queryFn: () => send<{ namespaces: string[][] }>("POST", "/store/namespaces", namespaceSearch),
    refetchInterval: refreshMs,
  })
  return data.namespaces
}

export function useItems(namespace: readonly string[], query: string): readonly StoreItem[] {
  const { url } = useAgent()
  const send = useSend()
  const { data } = useSuspenseQuery({
    queryKey: ["store-items", url, namespace, query],
    queryFn: () => send<{ items: StoreItem[] }>("POST", "/store/items/search", itemSearch(namespace, query)),
    // A search by meaning calls the project's embedding each time.
    refetchInterval: query === "" && refreshMs,
  })
  return data.items
}

export interface PutItem {
  readonly namespace: readonly string[]
  readonly key: string
  readonly value: unknown
}

export function useStoreActions() {
  const { url } = useAgent()
  const send = useSend()
  const queries = useQueryClient()
  const onSuccess = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ["store-items", url] }),
      queries.invalidateQueries({ queryKey: ["store-namespaces", url] }),
    ])
  return {
    put: useMutation({ mutationFn: (item: PutItem) => send("PUT", "/store/items", item), onSuccess }),
    remove: async ({ namespace, key }: Pick<PutItem, "namespace" | "key">) => {
      await send("DELETE", "/store/items", { namespace, key })
      await onSuccess()
    },
  }
}
