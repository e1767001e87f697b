/** Names of branches, in the thread's metadata: each at the checkpoint where it was given. Pure. */
import type { TreeItem } from "./checkpoint-tree.js"

/** The key of the metadata: `{ "<checkpoint id>": "<name>" }`. */
export const namesKey = "branch_names"

export function namesIn(metadata: Readonly<Record<string, unknown>> | null | undefined): Record<string, string> {
  const names = metadata?.[namesKey]
  if (typeof names !== "object" || names === null) return {}
  return Object.fromEntries(
    Object.entries(names).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  )
}

/** The names with one more, or with one less if the name is empty. */
export function withName(names: Readonly<Record<string, string>>, checkpointId: string, name: string) {
  const { [checkpointId]: _, ...others } = names
  return name.trim() === "" ? others : { ...others, [checkpointId]: name.trim() }
}

/** A branch has the newest name on its line, however long it grows. @returns names by lane */
export function namesOfLanes(items: readonly TreeItem[], names: Readonly<Record<string, string>>): Map<number, string> {
  const found = new Map<number, string>()
  for (const { id, lane } of items) {
    const name = names[id]
    if (name !== undefined && !found.has(lane)) found.set(lane, name)
  }
  return found
}
