/** A temporary folder with files for a test. It is removed when disposed. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** @param files  texts by path */
export async function folderWith(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), "project-"))
  const write = async (name: string, text: string) => {
    await mkdir(join(path, name, ".."), { recursive: true })
    await writeFile(join(path, name), text)
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return { path, write, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
