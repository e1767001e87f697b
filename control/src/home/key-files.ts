/** The files of the master key. Only the owner of the data folder can read them. */
import { link, open, readFile, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { KeyFiles } from "@superstep/machines/port/host"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"

/** With the next key, which only a command of the operator writes. */
export interface OwnKeyFiles extends KeyFiles {
  writeNext(text: string): Promise<void>
}

/**
 * @param home          the data folder
 * @param operatorFile  the file that a setting names
 */
export function keyFilesIn(home: string, operatorFile: string | undefined): OwnKeyFiles {
  const present = keyPath(home)
  const next = `${present}.next`
  return {
    read: (file) => {
      // The operator's must exist; those of the data folder are created when they are needed.
      if (file === "operator") return readFile(operatorFile ?? "", "utf8")
      return readFile(file === "next" ? next : present, "utf8").catch(ifCode(missing))
    },
    writeFirst: async (text) => {
      const draft = await writeDraft(present, text)
      // Unlike a rename, a link does not replace.
      await link(draft, present)
      await rm(draft)
      await flushFolder(home)
    },
    writeNext: async (text) => moveTo(await writeDraft(next, text), next),
    promoteNext: () => moveTo(next, present),
    removeNext: () => rm(next, { force: true }),
  }
}

export const keyPath = (home: string): string => join(home, "master.key")

/** On disk before anything is encrypted with it. */
async function writeDraft(file: string, text: string): Promise<string> {
  const draft = `${file}.draft`
  await rm(draft, { force: true })
  await using handle = await open(draft, "wx", 0o600)
  await handle.writeFile(text)
  await handle.sync()
  return draft
}

async function moveTo(from: string, to: string): Promise<void> {
  await rename(from, to)
  await flushFolder(dirname(to))
}

async function flushFolder(path: string): Promise<void> {
  await using folder = await open(path, "r")
  await folder.sync()
}
