/**
 * How often the start of a unit's output was removed; a place in the output names this number. It is changed in place: a full disk has no room
 * for another file, and the removal is what makes room.
 */
import { constants } from "node:fs"
import { open, readFile } from "node:fs/promises"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"

// As long as any number, so that a change only overwrites.
const width = 16

/** 0 where none was written, or not to the end. */
export const readCuts = async (file: string): Promise<number> =>
  Number(await readFile(file, "utf8").catch(ifCode(missing, "")))

/** After this it is there, also after a crash of the machine. Needs no room when it has been written before. */
export async function writeCuts(file: string, cuts: number): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o600)
  await handle.write(String(cuts).padEnd(width), 0)
  await handle.sync()
}
