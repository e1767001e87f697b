/**
 * Records which files a unit was started from. It starts workers from them while it lives, and an upgrade may replace or
 * remove them: then a restarted worker is of another release than its server, or does not start.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"

interface Program {
  readonly deploymentId: string
  /** The agent server's main file, and the identity of that file. */
  readonly entry: string
  readonly file: string
}

const noteOf = (unitFolder: string): string => join(unitFolder, "program.json")

/** Call it before the unit starts. */
export async function recordProgram(
  unitFolder: string,
  { deploymentId, entry }: Pick<Program, "deploymentId" | "entry">,
): Promise<void> {
  const file = await fileAt(entry)
  if (file === undefined) throw new Error(`${entry} is missing`)
  await writeJson(noteOf(unitFolder), { deploymentId, entry, file } satisfies Program)
}

/** @returns  the unit's program if it was changed or removed since; a unit of an older release has no record of it */
export async function replacedProgram(unitFolder: string): Promise<Program | undefined> {
  const noted = await readJson<Program>(noteOf(unitFolder))
  return noted && (await fileAt(noted.entry)) !== noted.file ? noted : undefined
}

/** npm gives files the same times in every release, and inode numbers are soon reused: together they identify a file. */
async function fileAt(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(ifCode(missing))
  return found && [found.ino, found.birthtimeMs, found.mtimeMs, found.size].join(" ")
}
