/** The command that starts this command line in a folder, so that printed commands can be pasted. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { published } from "@superstep/toolkit/published"
import { shellWord } from "../output/shell-word.js"

/**
 * With `--no` until our package is published: without it, npx would install and run whatever somebody registers under this name. Without
 * `--`, npx takes the next word as the value of `--no`, and then `--help` and `--version` as its own.
 */
const installed = published.npmPackage === undefined ? "npx --no -- superstep" : `npx ${published.npmPackage}`

/**
 * @param folder  where the reader will be
 * @param script  the script that Node runs now
 * @param release  the version of this program
 * @returns       npx where it finds an installed package (it looks in every folder above); what npx or uvx was given, when one of them runs
 *                the script; `superstep` for the script of an installed wheel (scripts/releases/wheel.py); else Node with the script's path. A
 *                shell reads paths with spaces as they are
 */
export function howToCall(folder: string, script: string, release: string): string {
  if (script.includes(inWheel)) return calledByUvx(script) ?? "superstep"
  if (isInstalledAbove(folder)) return installed
  const called = calledByNpx(script, release)
  if (called !== undefined) return called
  // This program only creates projects: the package beside it, which it does not find, has the command.
  return /\/create-superstep(\.mjs)?$/.test(script) ? installed : `node ${shellWord(relative(folder, script))}`
}

function isInstalledAbove(folder: string): boolean {
  if (existsSync(join(folder, "node_modules/.bin/superstep"))) return true
  return folder !== dirname(folder) && isInstalledAbove(dirname(folder))
}

/**
 * npx installs into a folder of its cache, whose package.json names what it was given. Without `file:`, npx would execute the tarball. That of `create-superstep` lies beside ours, as
 * scripts/releases/packages.mjs puts them.
 */
function calledByNpx(script: string, release: string): string | undefined {
  const [, cache] = /^(.*\/_npx\/[^/]+)\/node_modules\//.exec(script) ?? []
  if (cache === undefined) return undefined
  if (published.npmPackage !== undefined) return `npx --yes ${published.npmPackage}@${release}`
  const { dependencies = {} } = JSON.parse(readFileSync(join(cache, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>
  }
  const tarballs = Object.values(dependencies).flatMap((from) => /^file:(.*\.tgz)$/.exec(from)?.slice(1) ?? [])
  return (
    tarballs[0] &&
    `npx --yes ${shellWord(`file:${resolve(cache, tarballs[0]).replace(/create-(superstep-[^/]+)$/, "$1")}`)}`
  )
}

const inWheel = "/superstep/package/node_modules/superstep/"

/** uvx installs into a folder of its cache, where the wheel's notes name the file that it was given (PEP 610). */
function calledByUvx(script: string): string | undefined {
  const [, packages] = /^(.*\/archive-v\d+\/.*)\/superstep\/package\/node_modules\/superstep\//.exec(script) ?? []
  if (packages === undefined) return undefined
  if (published.pythonPackage !== undefined) return `uvx ${published.pythonPackage}`
  const notes = readdirSync(packages).find((name) => /^superstep-[^/]+\.dist-info$/.test(name)) ?? ""
  const file = join(packages, notes, "direct_url.json")
  if (!existsSync(file)) return undefined
  const { url } = JSON.parse(readFileSync(file, "utf8")) as { url: string }
  return `uvx --from ${shellWord(url.startsWith("file:") ? fileURLToPath(url) : url)} superstep`
}
