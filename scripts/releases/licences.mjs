/** The packages of others that our bundles contain, and their licences. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { root, SetupFailed } from "../setup.mjs"

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

/**
 * The licences of the bundled packages, whose texts must be distributed with them.
 * @param modules  paths relative to the root
 * @throws SetupFailed  a package has no licence
 */
export function licencesOf(modules) {
  const texts = packageFolders(modules).map((folder) => {
    const { name, version, license } = manifestOf(folder)
    const file = readdirSync(join(root, folder)).find((it) => /^(licen[cs]e|copying)/i.test(it))
    if (!file && !license) throw new SetupFailed(`${name}@${version} is bundled but states no licence`)
    const text = file ? readFileSync(join(root, folder, file), "utf8").trim() : `Licence: ${license}`
    return `${name} ${version}\n\n${text}\n`
  })
  return texts.join(`\n${"-".repeat(80)}\n\n`)
}

/** The folders of packages that modules belong to, such as `node_modules/pg`: as in package-lock.json. */
export const packageFolders = (modules) =>
  [...new Set(modules.map(packageFolder))].filter((folder) => folder !== undefined).sort()

/** The folder of the package that a module belongs to. A package may contain copies of others, without their manifests. */
function packageFolder(path) {
  const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]
  if (folder === undefined || existsSync(join(root, folder, "package.json"))) return folder
  return packageFolder(dirname(folder.slice(0, folder.lastIndexOf("node_modules/"))))
}
