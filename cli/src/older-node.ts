const recommended = 24

/**
 * What to say about a Node that works and is not what is recommended. Pure.
 * @param version  such as `20.20.2`
 * @returns        a sentence; undefined for Node 24 or newer
 */
export function olderNode(version: string): string | undefined {
  const major = Number(version.split(".")[0])
  if (major >= recommended) return undefined
  // The rates were measured with 20 and 24 (docs/performance.md).
  const why = major <= 20 ? `: Node ${major} gets no more security fixes, and streams fewer tokens a second` : ""
  return `Node ${version} works; Node ${recommended} is recommended${why}`
}
