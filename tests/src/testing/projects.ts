/** Projects in folders of their own, which use the packages of this repository. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

const root = new URL("../../../", import.meta.url)

/** @param from  a folder of this repository whose sources the project has, too. @returns  its folder */
export function projectWith(files: Readonly<Record<string, string>>, from?: string): string {
  const folder = join(temporaryFolder(), "project")
  mkdirSync(folder)
  const isSource = (path: string) => !/node_modules|\.superstep|__pycache__/.test(path)
  if (from !== undefined) cpSync(fileURLToPath(new URL(from, root)), folder, { recursive: true, filter: isSource })
  symlinkSync(fileURLToPath(new URL("node_modules", root)), join(folder, "node_modules"))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
