/**
 * Git refuses a repository of this machine that belongs to somebody else than its user. One of the administrator's is as good as our own:
 * the control plane itself may run without the rights of who installed it.
 */
import { createHash } from "node:crypto"
import { realpath } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { isOfAdministrator } from "@superstep/toolkit/files/own-folder"
import { writeWhole } from "@superstep/toolkit/files/whole-file"
import { localPath } from "./git-location.js"

/**
 * @param folder  where the file is written
 * @returns       a file with git's configuration for this repository; undefined when it needs none
 */
export async function trustFile(folder: string, repoUrl: string): Promise<string | undefined> {
  const path = repoUrl.startsWith("file:") ? localPath(repoUrl) : undefined
  if (path === undefined) return undefined
  // As git looks for it.
  const candidates = [join(path, ".git"), path, `${path}.git`]
  const real = await Promise.all(candidates.map((it) => realpath(it).catch(ifCode([...missing, "EACCES"]))))
  const trusted: string[] = []
  for (const it of real) if (it !== undefined && (await isOfAdministrator(it))) trusted.push(it)
  if (trusted.length === 0) return undefined
  const file = join(folder, `trust-${createHash("sha256").update(path).digest("hex").slice(0, 16)}`)
  const lines = trusted.map((it) => `\tdirectory = "${it.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"\n`)
  await writeWhole(file, `[safe]\n${lines.join("")}`)
  return file
}
