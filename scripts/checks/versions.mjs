/**
 * The version of a release is in each package.json, the lock file, the Helm chart and the commands of docs/kubernetes.md; the wheel and the image
 * read cli/package.json. `scripts/releases/changes.mjs` sets it everywhere, and `npm run check` proves that all say the same.
 */
const manifest =
  /^(?:(?:protocol|toolkit|server|oci|edge|builder|machines|control|workers\/js|cli|cli\/create|console|tests|bench)\/)?package\.json$/
const isOurs = (name) => name === "superstep" || name.startsWith("@superstep/")

/** What is replaced in a file that is no lock file: each first group is a version of ours. */
const patterns = [
  [manifest, /^ {2}"version": "(.+)"|^ {4}"(?:@superstep\/[^"]+|superstep)": "(\d.*)"/gm],
  [/^deploy\/helm\/superstep\/Chart\.yaml$/, /^(?:appVersion|version): (.+)$/gm],
  [/^docs\/kubernetes\.md$/, /\/superstep:(\d[\d.]*\d)/g],
]

/**
 * @param files    `{ path, text }`; those without a version of ours are left out
 * @returns        `{ path, text, before }` with the given version in them, and the versions that were there
 */
export const withVersion = (files, version) =>
  files.flatMap(({ path, text }) => {
    if (path === "package-lock.json") return [{ path, ...lockWithVersion(text, version) }]
    const pattern = patterns.find(([file]) => file.test(path))?.[1]
    if (!pattern) return []
    const before = new Set()
    const replaced = text.replaceAll(pattern, (line, ...groups) => {
      const found = groups[0] ?? groups[1]
      before.add(found)
      return line.slice(0, line.lastIndexOf(found)) + version + line.slice(line.lastIndexOf(found) + found.length)
    })
    return [{ path, text: replaced, before: [...before] }]
  })

function lockWithVersion(text, version) {
  const lock = JSON.parse(text)
  const before = new Set([lock.version])
  lock.version = version
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path.includes("node_modules")) continue
    before.add(entry.version)
    entry.version = version
    for (const wanted of [entry.dependencies, entry.devDependencies])
      for (const name of Object.keys(wanted ?? {}).filter(isOurs)) {
        before.add(wanted[name])
        wanted[name] = version
      }
  }
  return { text: `${JSON.stringify(lock, null, 2)}\n`, before: [...before] }
}

/** @param files  `{ path, text }`  @returns problems as `{ path, line, message }`, where a version is not that of the root's package.json */
export function checkVersions(files) {
  const root = files.find(({ path }) => path === "package.json")
  if (!root) return []
  const { version } = JSON.parse(root.text)
  return withVersion(files, version).flatMap(({ path, before }) =>
    before
      .filter((found) => found !== version)
      .map((found) => ({
        path,
        line: 1,
        message: `has version ${found}, and package.json ${version}: make them equal`,
      })),
  )
}
