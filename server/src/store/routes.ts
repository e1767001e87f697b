import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { callerOf } from "../http/caller-of.js"
import { renderItem } from "./item.js"
import { deleteItem, getItem, listNamespaces, putItem, searchItems } from "./operations.js"
import {
  foundItems,
  foundNamespaces,
  item,
  itemQuery,
  itemSearch,
  itemToDelete,
  namespaceSearch,
  newItem,
} from "./schema.js"
import type { Store } from "./store-settings.js"

const tags = ["Store"]
const invalid = { 422: { description: "Invalid input" } }
const noContent = () => new Response(null, { status: 204 })

export function addStoreRoutes(api: Api, store: Store): void {
  addItemRoutes(api, store)
  addRoute(api, {
    method: "post",
    path: "/store/items/search",
    summary: "Search items",
    lasts: "long",
    tags,
    body: itemSearch,
    responses: { 200: { description: "The items", schema: foundItems }, ...invalid },
    handle: async ({ c, body: { namespace_prefix, ...search } }) => {
      const items = await searchItems(store, callerOf(c), { ...search, namespace: namespace_prefix ?? [] })
      return jsonResponse({ items: items.map(renderItem) })
    },
  })
  addRoute(api, {
    method: "post",
    path: "/store/namespaces",
    summary: "List namespaces",
    lasts: "long",
    tags,
    body: namespaceSearch,
    responses: { 200: { description: "The namespaces", schema: foundNamespaces }, ...invalid },
    handle: async ({ c, body: { prefix, ...search } }) =>
      jsonResponse({ namespaces: await listNamespaces(store, callerOf(c), { ...search, namespace: prefix }) }),
  })
}

function addItemRoutes(api: Api, store: Store): void {
  const path = "/store/items"
  addRoute(api, {
    method: "put",
    path,
    summary: "Put an item",
    lasts: "long",
    tags,
    body: newItem,
    responses: {
      204: { description: "It is stored" },
      400: { description: "The namespace is empty" },
      409: { description: "The project's embedding failed, or the stored item is not that of `if_value`" },
      ...invalid,
    },
    handle: async ({ c, body }) => {
      await putItem(store, callerOf(c), body)
      return noContent()
    },
  })
  addRoute(api, {
    method: "get",
    path,
    summary: "Get an item",
    tags,
    query: itemQuery,
    responses: { 200: { description: "The item; null when there is none", schema: item.nullable() }, ...invalid },
    handle: async ({ c, query }) => {
      const found = await getItem(store, callerOf(c), query)
      return jsonResponse(found && renderItem(found))
    },
  })
  addRoute(api, {
    method: "delete",
    path,
    summary: "Delete an item",
    tags,
    body: itemToDelete,
    responses: { 204: { description: "The item does not exist any more" }, ...invalid },
    handle: async ({ c, body: { namespace, key } }) => {
      await deleteItem(store, callerOf(c), { namespace: namespace ?? [], key })
      return noContent()
    },
  })
}
