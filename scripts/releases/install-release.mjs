/**
 * Installs the npm package of this release as a user would, but with the versions of our lock file, so that the wheel and the image of a commit
 * are the same on each day: `node scripts/releases/install-release.mjs FOLDER`.
 */
import { execFile } from "node:child_process"
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { explain, root } from "../setup.mjs"

const run = promisify(execFile)

/** @param folder  of a package: cli or cli/create  @returns the path of its tarball in `target` */
export async function packRelease(folder, target) {
  mkdirSync(target, { recursive: true })
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", target], { cwd: join(root, folder) })
  return join(target, stdout.trim().split("\n").at(-1))
}

/**
 * Programs of packages are not run: what they would write differs from machine to machine, and ours does without.
 * @param folder   gets `node_modules`, and nothing else
 * @param tarball  by default it is packed
 * @returns        the installed packages, as paths of package-lock.json: without those of other systems
 */
export async function installRelease(folder, tarball) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, "superstep.tgz")
  if (tarball) copyFileSync(tarball, file)
  else renameSync(await packRelease("cli", folder), file)
  const dependencies = { superstep: "file:superstep.tgz" }
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  write(join(folder, "package.json"), { private: true, dependencies })
  write(join(folder, "package-lock.json"), { lockfileVersion: 3, packages: lockedPackages(lock, dependencies) })
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
  await run("npm", ["install", "--omit=dev", "--ignore-scripts", ...quiet], { cwd: folder })
  const notes = join(folder, "node_modules/.package-lock.json")
  const installed = Object.keys(JSON.parse(readFileSync(notes, "utf8")).packages)
  const wrong = installed.filter((path) => path !== "node_modules/superstep" && !lock.packages[path])
  if (wrong.length > 0) throw new Error(`npm installed packages that are not in package-lock.json: ${wrong.join(", ")}`)
  const own = ["package.json", "package-lock.json", "node_modules/.package-lock.json", "superstep.tgz"]
  for (const name of own) rmSync(join(folder, name))
  return installed.filter((path) => path !== "node_modules/superstep")
}

/** npm keeps the versions that it finds, and removes what the tarball does not need. */
const lockedPackages = (lock, dependencies) => ({
  "": { dependencies },
  ...Object.fromEntries(
    Object.entries(lock.packages)
      .filter(([path, { link }]) => path.startsWith("node_modules/") && !link)
      // In our own lock file these are about this repository.
      .map(([path, { dev: _, peer: __, devOptional: ___, ...entry }]) => [path, entry]),
  ),
})

const write = (path, value) => writeFileSync(path, JSON.stringify(value))

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href)
  await installRelease(resolve(process.argv[2])).catch(explain)
