/**
 * A copy of the repository in which the release can be packed: packing puts copies of our packages into cli/lib for a moment, which the
 * tests that run at the same time must not see.
 */
import { execFile } from "node:child_process"
import { cpSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const repository = fileURLToPath(new URL("../../../", import.meta.url))

const files = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.base.json",
  ".npmrc",
  ".gitignore",
  "LICENSE",
  "scripts",
]
const folders = [
  "protocol",
  "toolkit",
  "server",
  "control",
  "machines",
  "builder",
  "edge",
  "oci",
  "workers/js",
  "workers/python",
  "cli",
  "console",
  "deploy",
  "docs",
  "examples",
]

/** @returns  its folder, in which nothing is packed yet */
export function copyForPacking(): string {
  const copy = temporaryFolder()
  const filter = (from: string) => !/node_modules|\.superstep/.test(from.slice(repository.length))
  for (const path of [...files, ...folders])
    cpSync(join(repository, path), join(copy, path), { recursive: true, preserveTimestamps: true, filter })
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"))
  return copy
}

/** Packs the command line in such a copy. @returns  the tarball */
export async function packedCommand(): Promise<string> {
  const cli = join(copyForPacking(), "cli")
  const { stdout } = await promisify(execFile)("npm", ["pack", "--silent"], { cwd: cli })
  return join(cli, stdout.trim())
}
