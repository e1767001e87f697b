/** Removes a cluster that nobody needs any more. */
import { realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { ifCode } from "../errors/if-code.js"
import { stopProcess } from "../exec/stop-process.js"
import { socketFolderOf } from "./folders.js"
import { findPostmaster } from "./postmaster.js"

const shutdownMs = 10_000

/** Ends its Postgres, should one run, and removes its folder, wherever the parts of it are. A missing one is ignored. */
export async function removeCluster(folder: string): Promise<void> {
  const path = await realpath(folder).catch(ifCode(["ENOENT"]))
  if (path === undefined) return
  const running = await findPostmaster(join(path, "data"))
  // The immediate shutdown: it also ends its sessions.
  if (running) await stopProcess(running.identity, { graceMs: shutdownMs, signal: "SIGQUIT" })
  for (const part of [await socketFolderOf(path), path, folder]) await rm(part, { recursive: true, force: true })
}
