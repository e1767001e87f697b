/**
 * Finds circles of imports between the folders of a package, types included: between all its folders, where a file belongs to the folder
 * that it is in, and between its first-level folders, where it belongs to the one that it is below. A file directly below `src/` belongs
 * to the folder `.`.
 */
import { posix } from "node:path"

/**
 * @param imports  `{ from, to, fromPackage, toPackage, line }`, paths from the repository's root
 * @returns        problems as `{ path, line, message }`: one for each import that closes a circle
 */
export function problemsOfKnots(imports) {
  const packages = new Set(imports.map(({ fromPackage }) => fromPackage))
  const found = [...packages].flatMap((name) =>
    [inFolder, belowFirstFolder].flatMap((folderOf) => circles(importsBetweenFolders(imports, name, folderOf))),
  )
  return [...new Map(found.map((problem) => [`${problem.path}:${problem.line}`, problem])).values()]
}

const inFolder = (path) => posix.dirname(path)

/** What helps tests starts the whole product, so it belongs to no first-level folder. */
const belowFirstFolder = (path) =>
  /(^|\/)testing\//.test(path) ? undefined : path.includes("/") ? path.split("/")[0] : "."

/** @returns  folder → folder that it imports → the first such import */
function importsBetweenFolders(imports, name, folderOf) {
  const root = name === "workers/python" ? `${name}/superstep_worker/` : `${name}/src/`
  const folders = new Map()
  for (const one of imports) {
    if (![one.from, one.to].every((path) => path?.startsWith(root)) || /\.test\.tsx?$/.test(one.from)) continue
    const [from, to] = [one.from, one.to].map((path) => folderOf(path.slice(root.length)))
    if (from === undefined || to === undefined || from === to) continue
    if (!folders.has(from)) folders.set(from, new Map())
    if (!folders.get(from).has(to)) folders.get(from).set(to, one)
  }
  return folders
}

/** One problem for each import between folders from whose target a chain of imports leads back. */
function circles(folders) {
  return [...folders].flatMap(([from, imported]) =>
    [...imported].flatMap(([to, { from: path, line }]) => {
      const back = wayBack(folders, to, from)
      if (!back) return []
      const circle = [from, to, ...back.map((hop) => hop.to)].join(" → ")
      const closing = back.map(({ one }) => `${one.from}:${one.line} imports ${posix.basename(one.to)}`).join(", ")
      const message = `folders import each other: ${circle}; ${closing}. Move what both need to the folder that owns it`
      return [{ path, line, message }]
    }),
  )
}

/** @returns  the shortest chain of imports, as `{ to, one }`; undefined when there is none */
function wayBack(folders, start, goal) {
  const entered = new Map()
  const queue = [start]
  for (const from of queue) {
    for (const [to, one] of folders.get(from) ?? []) {
      if (entered.has(to)) continue
      entered.set(to, { from, one })
      queue.push(to)
    }
  }
  if (!entered.has(goal)) return undefined
  const hops = []
  for (let to = goal; to !== start; to = entered.get(to).from) hops.unshift({ to, one: entered.get(to).one })
  return hops
}
