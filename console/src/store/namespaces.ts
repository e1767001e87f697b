/** The namespaces of a store as an indented list, places as texts, and searching what was loaded. Pure. */
import { parseJson } from "../json-editor/json-text.js"

export interface NamespaceRow {
  readonly path: readonly string[]
  readonly label: string
  readonly depth: number
}

/** All namespaces with their parents, in the order of a tree. */
export function namespaceRows(namespaces: readonly (readonly string[])[]): NamespaceRow[] {
  const paths = new Map<string, readonly string[]>()
  for (const namespace of namespaces) {
    for (let depth = 1; depth <= namespace.length; depth++) {
      const path = namespace.slice(0, depth)
      paths.set(JSON.stringify(path), path)
    }
  }
  return [...paths.values()]
    .sort(inTreeOrder)
    .map((path) => ({ path, label: path.at(-1) ?? "", depth: path.length - 1 }))
}

function inTreeOrder(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((label, n) => label !== other[n])
  if (at < 0 || at >= other.length) return one.length - other.length
  return (one[at] ?? "") < (other[at] ?? "") ? -1 : 1
}

/**
 * A namespace as a person may edit it: labels with slashes between them, or a JSON list where that would be read as others.
 * @see labelsOf
 */
export function namespaceText(labels: readonly string[]): string {
  const text = labels.join(" / ")
  const list = JSON.stringify(labels)
  return JSON.stringify(labelsOf(text)) === list ? text : list
}

/** The labels of such a text. */
export function labelsOf(text: string): readonly string[] {
  const list = textsIn(text)
  if (list) return list
  const labels = text.split("/").map((label) => label.trim())
  return labels.filter(Boolean)
}

export interface ItemPlace {
  readonly namespace: readonly string[]
  readonly key: string
}

export interface StoreItem extends ItemPlace {
  readonly value: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
  /** How near it is to the query, in a store with an index. */
  readonly score?: number | null
}

/** Unique among items of all namespaces. */
export const itemId = (place: ItemPlace): string => JSON.stringify(pathOf(place))

/** A place as an address has it: the labels of the namespace, then the key. */
export const pathOf = ({ namespace, key }: ItemPlace): readonly string[] => [...namespace, key]

export const placeOf = (path: readonly string[]): ItemPlace => ({
  namespace: path.slice(0, -1),
  key: path.at(-1) ?? "",
})

/** @param raw  a list, or its JSON, as in links of older releases */
export function pathIn(raw: unknown): readonly string[] | undefined {
  const path = textsIn(typeof raw === "string" ? raw : JSON.stringify(raw))
  return path && path.length > 1 ? path : undefined
}

function textsIn(json = ""): readonly string[] | undefined {
  const { value } = parseJson(json)
  return Array.isArray(value) && value.every((each) => typeof each === "string") ? value : undefined
}

/** How many items, and how many namespaces, are read at a time: a store may have millions. */
export const itemLimit = 500
export const namespaceLimit = 1000

/**
 * @param pages  how many pages were read
 * @returns      a sentence about the items that were not read; a ranking by meaning needs none
 */
export function cutText(items: readonly StoreItem[], query: string, pages: number): string | undefined {
  if (items.length < itemLimit * pages || isRanked(items)) return undefined
  const last = `${items.length} items that changed last`
  return query === "" ? `The ${last}.` : `Only the ${last} were searched.`
}

const isRanked = (items: readonly StoreItem[]): boolean => items.some(({ score }) => typeof score === "number")

/**
 * The items of a search. A store with an index has ranked them by meaning; any other one ignores the query, so those that contain
 * the text are chosen here.
 */
export function foundItems(items: readonly StoreItem[], query: string): readonly StoreItem[] {
  if (query === "" || isRanked(items)) return items
  const text = query.toLowerCase()
  return items.filter(({ key, value }) => `${key} ${JSON.stringify(value)}`.toLowerCase().includes(text))
}
