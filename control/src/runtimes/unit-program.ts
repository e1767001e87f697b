/**
 * Which files a unit was started from. It starts workers from them for as long as it lives, and an upgrade may replace or
 * remove them: then a worker that starts anew is of another release than its server, or does not start.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { readJson, writeJson } from "../files/json-file.js"

interface Program {
  readonly deploymentId: string
  /** The agent server's main file, and which file that was. */
  readonly entry: string
  readonly file: string
}

const noteOf = (unitFolder: string): string => join(unitFolder, "program.json")

/** Before the unit is started. */
export async function noteProgram(
  unitFolder: string,
  { deploymentId, entry }: Pick<Program, "deploymentId" | "entry">,
): Promise<void> {
  const file = await fileAt(entry)
  if (file === undefined) throw new Error(`there is no ${entry}`)
  await writeJson(noteOf(unitFolder), { deploymentId, entry, file } satisfies Program)
}

/** @returns what the unit was started from if that is no longer there as it was; one of an older release has not noted it */
export async function lostProgram(unitFolder: string): Promise<Program | undefined> {
  const noted = await readJson<Program>(noteOf(unitFolder))
  return noted && (await fileAt(noted.entry)) !== noted.file ? noted : undefined
}

/** npm gives files the same times in every release, and a number is soon given out again: together they tell. */
async function fileAt(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(ifCode(missing))
  return found && [found.ino, found.birthtimeMs, found.mtimeMs, found.size].join(" ")
}
