/** Reads a list to its end, page by page. Pure, apart from the reading. */

interface List<Item> {
  /** How many items a page has at most: one with fewer is the last. */
  readonly pageSize: number
  readonly idOf: (item: Item) => string
  readonly read: (offset: number) => Promise<readonly Item[]>
}

/** @returns  each item once, also if it moved to a later page while the list was read */
export async function readToEnd<Item>({ pageSize, idOf, read }: List<Item>): Promise<Item[]> {
  const items = new Map<string, Item>()
  for (let offset = 0; ; offset += pageSize) {
    const page = await read(offset)
    for (const item of page) items.set(idOf(item), item)
    if (page.length < pageSize) return [...items.values()]
  }
}
