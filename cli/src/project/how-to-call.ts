/** The command that starts this command line in a folder, so that printed commands can be pasted. */
import { existsSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { published } from "@superstep/toolkit/published"

/**
 * With `--no` until our package is published: without it, npx would install and run whatever somebody registers under this name. Without
 * `--`, npx takes the next word as the value of `--no`, and then `--help` and `--version` as its own.
 */
const installed = published.npmPackage === undefined ? "npx --no -- superstep" : `npx ${published.npmPackage}`

/**
 * @param folder  where the reader will be
 * @param script  the script that Node runs now
 * @returns       `superstep` for the script of a wheel (scripts/wheel.py), npx where it finds an installed one (it looks in every folder above), else Node with the script's path
 */
export function howToCall(folder: string, script: string): string {
  if (script.includes("/superstep/package/node_modules/superstep/")) return "superstep"
  return isInstalledAbove(folder) ? installed : `node ${relative(folder, script)}`
}

function isInstalledAbove(folder: string): boolean {
  if (existsSync(join(folder, "node_modules/.bin/superstep"))) return true
  return folder !== dirname(folder) && isInstalledAbove(dirname(folder))
}
