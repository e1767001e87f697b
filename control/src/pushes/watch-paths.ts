/** Tells whether a push touches the files that a deployment is made of (`source_config.watch_paths`). Pure. */

/** Says what is wrong with a pattern, or undefined. */
export function watchPathProblem(pattern: string): string | undefined {
  if (pattern === "" || pattern.length > 255) return "is empty or longer than 255 characters"
  if (pattern.startsWith("/")) return "is absolute: give it relative to the repository's root"
  if (pattern.startsWith("!")) return "begins with !: only what is watched is named"
  return pattern.split("/").includes("..") ? "leaves the repository" : undefined
}

/**
 * A pattern is a file, a folder with all that is in it, or has `*` (within a name), `?` and `**` (any folders).
 * @param path  of a file, relative to the repository's root
 */
export function isWatched(patterns: readonly string[], path: string): boolean {
  const parts = path.split("/")
  return patterns.some((pattern) => {
    const wanted = pattern.replace(/^\.\//, "").replace(/\/+$/, "").split("/")
    // What is named may be a folder: then everything below it counts.
    return matches([...wanted, "**"], parts, matchesName)
  })
}

/**
 * Matches two lists, where `**` stands for any run of items. It goes back to the last `**` only, so the effort is the
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
