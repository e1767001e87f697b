/**
 * What a life of a unit has printed when its engine no longer has it, and what may not be stored yet: a file for each such life, in the bytes
 * of the engine. It is deleted when all of it is stored.
 */
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { UnitLogs } from "../../port/port.js"
import { isBefore, type Place, placeIn, placeOf } from "./engine-output.js"

export interface UnreadOutput {
  /** Replaces what is kept of this life. */
  keep(unitId: string, lifeId: string, bytes: AsyncIterable<Buffer>): Promise<void>
  /**
   * Reads on in the oldest one.
   * @returns  undefined when only the engine has more
   */
  read(unitId: string, how: HowToRead): Promise<UnitLogs | undefined>
}

export interface HowToRead {
  readonly from: string
  /** The life that the engine has, and whose output it gives. */
  readonly presentLifeId: string | undefined
  /** One of them is still being written: then none is read. */
  readonly mayGrow: boolean
  readonly read: (bytes: AsyncIterable<Buffer>, place: Place) => Promise<UnitLogs>
}

/** Deletes the copies of all output that former releases made of what an engine has. */
export const removeFormerCopies = async (unitFolder: string): Promise<void> => {
  for (const name of ["out.log", "output.json"]) await rm(join(unitFolder, name), { force: true })
}

/** @param folderOf  the folder of a unit */
export function unreadOutput(folderOf: (unitId: string) => string): UnreadOutput {
  const unreadIn = (unitId: string) => join(folderOf(unitId), "unread")
  return {
    keep: async (unitId, lifeId, bytes) => {
      await mkdir(unreadIn(unitId), { recursive: true, mode: 0o700 })
      await pipeline(bytes, createWriteStream(join(unreadIn(unitId), lifeId), { mode: 0o600 }))
    },
    read: async (unitId, { from, presentLifeId, mayGrow, read }) => {
      const lives = await readdir(unreadIn(unitId)).catch(ifCode(missing, []))
      for (const lifeId of lives.toSorted()) {
        if (lifeId === presentLifeId) return undefined
        const file = join(unreadIn(unitId), lifeId)
        // Else lines of a later life are stored.
        if (!isBefore(lifeId, placeOf(from)?.lifeId ?? "")) {
          if (mayGrow) return { lines: [], next: from }
          // Another reader may have deleted it: all of it is stored.
          const found = await read(createReadStream(file), placeIn(lifeId, from)).catch(ifCode(missing))
          if (found === undefined) continue
          if (found.next !== from) return found
        }
        await rm(file, { force: true })
      }
      return undefined
    },
  }
}
