/**
 * Everything that a paged list has, while the server that is read goes on serving: what is changed or deleted there moves the others between
 * the pages, so the list is read again until it has nothing new. That is one request for a hundred things, each of which needs several.
 */

export const pageSize = 100

/**
 * @param read   the page at an offset, of `pageSize` at the most; `round` counts the readings of the list, from 0
 * @param keyOf  tells one thing from another
 * @returns      each thing once
 */
export async function* every<Thing>(
  read: (offset: number, round: number) => Promise<readonly Thing[]>,
  keyOf: (thing: Thing) => string,
): AsyncGenerator<Thing> {
  const seen = new Set<string>()
  for (let [round, before] = [0, -1]; before < seen.size; round++) {
    before = seen.size
    for (let [offset, isLast] = [0, false]; !isLast; offset += pageSize) {
      const page = await read(offset, round)
      isLast = page.length < pageSize
      for (const thing of page) {
        if (seen.has(keyOf(thing))) continue
        seen.add(keyOf(thing))
        yield thing
      }
    }
  }
}
