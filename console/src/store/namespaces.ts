/** The namespaces of a store as an indented list, and searching what was loaded. Pure. */

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

export interface StoreItem {
  readonly namespace: readonly string[]
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
  /** How near it is to the query, in a store with an index. */
  readonly score?: number | null
}

/** Unique among items of all namespaces. */
export const itemId = ({ namespace, key }: Pick<StoreItem, "namespace" | "key">): string =>
  JSON.stringify([...namespace, key])

/** How many items are read at a time: a store may have millions. */
export const itemLimit = 500

/** @returns  a sentence about the items that were not read; a ranking by meaning needs none */
export function cutText(items: readonly StoreItem[], query: string): string | undefined {
  if (items.length < itemLimit || isRanked(items)) return undefined
  const others = "A narrower namespace, or the API, lists the others."
  return query === ""
    ? `The ${itemLimit} items that changed last. ${others}`
    : `Only the ${itemLimit} items that changed last were searched. ${others}`
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
