/** The files of `docs/recipes`, which users copy. Every one of them is named by a test (recipes/every-file.test.ts). */
import { readFileSync, statSync } from "node:fs"
import { cp } from "node:fs/promises"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

export const recipesFolder = fileURLToPath(new URL("../../../docs/recipes", import.meta.url))

/** @param path  of a file or a folder below `docs/recipes`, written out: `every-file.test.ts` finds it in the source */
export const recipe = (path: string): string => `${recipesFolder}/${path}`

/** The copy that a user makes of a file, or of what is in a folder. @returns  the folder that has it */
export async function copyOfRecipe(path: string): Promise<string> {
  const copy = temporaryFolder()
  const isFolder = statSync(path).isDirectory()
  await cp(path, isFolder ? copy : join(copy, basename(path)), { recursive: true })
  return copy
}

/**
 * The text of a recipe with what each user changes: names, ports, paths of certificates.
 * @param changes  what stands in the file, and what takes its place everywhere
 * @throws Error   the file does not have one of them
 */
export function changedRecipe(file: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} does not have ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(file, "utf8"),
  )
}
