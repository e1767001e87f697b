/** Reads a list to its end, or some pages of it. Pure, apart from the reading. */

interface List<Item> {
  /** How many items a page has at most: one with fewer is the last. */
  readonly pageSize: number
  readonly idOf: (item: Item) => string
  readonly read: (offset: number) => Promise<readonly Item[]>
  /** Of a list whose page has a button for more. */
  readonly mostPages?: number
}

/** @returns  each item once, also if it moved to a later page while the list was read */
export async function readToEnd<Item>({
  pageSize,
  idOf,
  read,
  mostPages = Number.POSITIVE_INFINITY,
}: List<Item>): Promise<Item[]> {
  const items = new Map<string, Item>()
  for (let offset = 0; ; offset += pageSize) {
    const page = await read(offset)
    for (const item of page) items.set(idOf(item), item)
    if (page.length < pageSize || offset + pageSize >= pageSize * mostPages) return [...items.values()]
  }
}
