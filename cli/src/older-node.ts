const recommended = 24

/**
 * What to say about a Node that works and is not what is recommended. Pure.
 * @param version  such as `20.20.2`
 * @returns        a sentence; undefined for Node 24 or newer
 */
export function olderNode(version: string): string | undefined {
  const major = Number(version.split(".")[0])
  if (major >= recommended) return undefined
  const ended = major <= 20 ? "gets no more security fixes, and " : ""
  return `Node ${version} works; Node ${recommended} is recommended: Node ${major} ${ended}streams fewer tokens a second`
}
