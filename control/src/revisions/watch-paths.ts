/** Decides whether a push changes the files of a deployment (`source_config.watch_paths`). Pure. */
import { withoutEnd } from "@superstep/toolkit/text/without-end"

/** Returns what is wrong with a pattern, or undefined. */
export function watchPathProblem(pattern: string): string | undefined {
  if (pattern === "" || pattern.length > 255) return "is empty or longer than 255 characters"
  if (pattern.startsWith("/")) return "is absolute: give it relative to the repository's root"
  if (pattern.startsWith("!")) return "starts with !: exclusions are not supported"
  return pattern.split("/").includes("..") ? "leaves the repository" : undefined
}

/**
 * A pattern is a file, a folder with everything in it, or contains `*` (within a name), `?` and `**` (any folders).
 * @param path  of a file, relative to the repository's root
 */
export function isWatched(patterns: readonly string[], path: string): boolean {
  const parts = path.split("/")
  return patterns.some((pattern) => {
    const wanted = withoutEnd(pattern.replace(/^\.\//, ""), "/").split("/")
    // A name may be a folder: then everything below it counts.
    return matches([...wanted, "**"], parts, matchesName)
  })
}

/**
 * Matches two lists, where `**` stands for any run of items. It backtracks only to the last `**`, so the cost is the
 * product of the lengths, whatever the pattern.
 */
function matches<T>(pattern: readonly string[], items: readonly T[], fits: (one: string, item: T) => boolean): boolean {
  let [at, position, star, resume] = [0, 0, -1, 0]
  while (position < items.length) {
    const wanted = pattern[at]
    if (wanted === "**") {
      star = at++
      resume = position
    } else if (wanted !== undefined && fits(wanted, items[position] as T)) {
      at++
      position++
    } else if (star >= 0) {
      at = star + 1
      position = ++resume
    } else return false
  }
  return pattern.slice(at).every((wanted) => wanted === "**")
}

const matchesName = (pattern: string, name: string): boolean =>
  matches(
    [...pattern].map((character) => (character === "*" ? "**" : character)),
    [...name],
    (wanted, character) => wanted === "?" || wanted === character,
  )
