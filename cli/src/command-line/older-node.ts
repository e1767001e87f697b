const recommended = 24

/**
 * What to say about a Node that works and is not what is recommended. Pure.
 * @param version  such as `20.20.2`
 * @param agents   the version of the newer Node that agents run on, if they do
 * @returns        a sentence; undefined for Node 24 or newer
 */
export function olderNode(version: string, agents?: string): string | undefined {
  const major = Number(version.split(".")[0])
  if (major >= recommended) return undefined
  // The rates were measured with 20 and 24 (docs/performance.md).
  const slower = agents === undefined ? ", and streams fewer tokens a second" : ""
  const why = major <= 20 ? `: Node ${major} gets no more security fixes${slower}` : ""
  const built = agents === undefined ? "" : `. Agents are built for Node ${agents}`
  return `Node ${version} works; Node ${recommended} is recommended${why}${built}`
}
