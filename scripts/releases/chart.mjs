/** Packs the Helm chart, as `helm package` does and without helm: `node scripts/releases/chart.mjs FOLDER` writes the file there and prints its path. */
import { mkdirSync, readFileSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { explain, filesBelow, root } from "../setup.mjs"

const charts = join(root, "deploy/helm")

/**
 * A tar of the chart below its name; the values for tests stay out. Its bytes depend only on names and contents.
 * @returns  its path in `folder`: not the name that helm gives it, which is that of the npm package
 */
export async function packChart(folder) {
  // Not before: a fresh clone has no packages until `setUp`.
  const { create } = await import("tar")
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const files = filesBelow(join(charts, "superstep")).filter((path) => !path.includes("/superstep/ci/"))
  const same = { portable: true, mtime: new Date(0), onWriteEntry: ({ stat }) => Object.assign(stat, { mode: 0o644 }) }
  const file = join(folder, `superstep-chart-${version}.tgz`)
  mkdirSync(folder, { recursive: true })
  const names = files.map((path) => relative(charts, path))
  await create({ ...same, gzip: true, cwd: charts, file }, names)
  return file
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await packChart(resolve(process.argv[2])).then(console.log).catch(explain)
