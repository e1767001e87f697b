/**
 * Finds circles of imports between the folders of a package, types included. A knot is a set of folders of which each
 * reaches each other one by imports; a file directly below `src/` belongs to the folder `.`.
 *
 * `import-knots.json` names the knots that are still there: for each package and each folder in a knot, the folders of
 * the same knot that it imports. The list is exact, so a knot can only shrink.
 */
import { posix } from "node:path"

/**
 * @param imports  `{ from, to, fromPackage, toPackage, line }`, paths from the repository's root
 * @param allowed  the content of `import-knots.json`
 * @returns        problems as `{ path, line, message }`: one for each import between folders that the list lacks, and
 *                 one for each folder of the list that is in the knot with fewer imports than the list says
 */
export function problemsOfKnots(imports, allowed) {
  const packages = new Set([...imports.map(({ fromPackage }) => fromPackage), ...Object.keys(allowed)])
  return [...packages].flatMap((name) => {
    const folders = importsBetweenFolders(imports, name)
    const knotted = importsInKnots(folders)
    const listed = new Map(Object.entries(allowed[name] ?? {}).map(([from, to]) => [from, to.split(" ")]))
    return [...added(folders, knotted, listed), ...removed(name, knotted, listed)]
  })
}

/** @returns  folder → folder that it imports → the first such import */
function importsBetweenFolders(imports, name) {
  const folders = new Map()
  for (const one of imports) {
    if (one.fromPackage !== name || one.toPackage !== name || /\.test\.tsx?$/.test(one.from)) continue
    const [from, to] = [folderOf(one.from, name), folderOf(one.to, name)]
    if (from === undefined || to === undefined || from === to) continue
    if (!folders.has(from)) folders.set(from, new Map())
    if (!folders.get(from).has(to)) folders.get(from).set(to, one)
  }
  return folders
}

function folderOf(path, name) {
  const root = name === "workers/python" ? `${name}/superstep_worker` : `${name}/src`
  return path.startsWith(`${root}/`) ? posix.dirname(path).slice(root.length + 1) || "." : undefined
}

/** Keeps the imports between folders from whose target an import chain leads back. */
function importsInKnots(folders) {
  const reach = new Map([...folders.keys()].map((from) => [from, reachable(folders, from)]))
  const inKnot = ([from, imported]) => [from, [...imported.keys()].filter((to) => reach.get(to)?.has(from)).sort()]
  return new Map([...folders].map(inKnot).filter(([, imported]) => imported.length > 0))
}

/** @returns  folder → the import by which the shortest chain from `start` enters it */
function reachable(folders, start) {
  const entered = new Map()
  const queue = [start]
  for (const from of queue) {
    for (const [to, one] of folders.get(from) ?? []) {
      if (entered.has(to)) continue
      entered.set(to, { from, one })
      queue.push(to)
    }
  }
  return entered
}

function added(folders, knotted, listed) {
  return [...knotted].flatMap(([from, imported]) =>
    imported
      .filter((to) => !listed.get(from)?.includes(to))
      .map((to) => {
        const { from: path, line } = folders.get(from).get(to)
        const back = wayBack(folders, to, from)
        const circle = [from, to, ...back.map((hop) => hop.to)].join(" → ")
        const closing = back.map(({ one }) => `${one.from}:${one.line} imports ${posix.basename(one.to)}`).join(", ")
        return {
          path,
          line,
          message: `folders import each other: ${circle}; ${closing}. Move what both need to the folder that owns it`,
        }
      }),
  )
}

function wayBack(folders, start, goal) {
  const entered = reachable(folders, start)
  const hops = []
  for (let to = goal; to !== start; to = entered.get(to).from) hops.unshift({ to, one: entered.get(to).one })
  return hops
}

function removed(name, knotted, listed) {
  return [...listed].flatMap(([from, imported]) => {
    const left = knotted.get(from)?.filter((to) => imported.includes(to)) ?? []
    if (left.length === imported.length) return []
    const change = left.length === 0 ? `remove "${from}"` : `write "${from}": "${left.join(" ")}"`
    return [{ path: "scripts/import-knots.json", line: 1, message: `the knot of ${name} is smaller: ${change}` }]
  })
}
