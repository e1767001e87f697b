/**
 * Folders that contain a Postgres cluster, as after a first start. `initdb` takes more than a second of processor time and
 * waits for the disk; a copy of its result takes a twentieth of that. For tests that are not about a first start.
 */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { makeCluster } from "../postgres/start-postgres.js"
import { temporaryFolder } from "./temporary-folder.js"

let made: Promise<string> | undefined

/** `npm test` creates one for all files (`SUPERSTEP_TEST_CLUSTER`); otherwise this process creates its own. */
function template(): Promise<string> {
  made ??= Promise.resolve(process.env.SUPERSTEP_TEST_CLUSTER ?? makeTemplate())
  return made
}

async function makeTemplate(): Promise<string> {
  const folder = temporaryFolder()
  await makeCluster(folder)
  return folder
}

/**
 * Creates a folder with a cluster, which the next start there uses.
 * @returns  the folder
 */
export async function preparedCluster(folder: string = temporaryFolder()): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const from = await template()
  const parts = ["data", "password"].map((name) => join(from, name))
  // Keeps the owner: as root, Postgres runs as another user.
  await promisify(execFile)("cp", ["-a", ...parts, folder])
  return folder
}
