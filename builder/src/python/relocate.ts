/**
 * Makes a Python environment work at the place to which its tree is about to be moved. Scripts, and packages of the tree that were
 * installed editable, have the absolute path of the tree; everything else in an environment is found relative to its Python.
 */
import { chmod, lstat, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"

// Scripts and path files have some lines; a program that is a binary is larger, and has no path of ours.
const maxBytes = 1024 * 1024

/**
 * The tree is closed (`own-tree.ts`): nobody else can change it, so what was checked stays as it is. Links in it may lead out of it:
 * none is followed, since root would change somebody else's file there.
 * @param folder  of the environment, relative to the tree; nothing happens when there is none
 * @param tree    its absolute path, now and afterwards
 */
export async function relocate(folder: string, tree: { readonly from: string; readonly to: string }): Promise<void> {
  const venv = await folderIn(tree.from, ...folder.split("/"))
  if (venv === undefined) return
  for (const file of await filesWithPaths(venv)) {
    const found = await lstat(file).catch(ifCode(missing))
    if (!found?.isFile() || found.size > maxBytes) continue
    const text = await readFile(file, "latin1")
    if (!text.includes(tree.from)) continue
    // Files of a closed tree are read-only. Writing in place keeps their owner.
    await chmod(file, found.mode | 0o200)
    await writeFile(file, text.replaceAll(tree.from, tree.to), "latin1")
    await chmod(file, found.mode)
  }
}

async function filesWithPaths(venv: string): Promise<string[]> {
  const programs = await pathsIn(await folderIn(venv, "bin"))
  const libraries = await folderIn(venv, "lib")
  const found: string[] = [join(venv, "pyvenv.cfg"), ...programs]
  for (const python of libraries === undefined ? [] : await readdir(libraries)) {
    const packages = await folderIn(venv, "lib", python, "site-packages")
    for (const path of await pathsIn(packages)) {
      if (path.endsWith(".pth") || /\/__editable__[^/]*\.py$/.test(path)) found.push(path)
      if (path.endsWith(".dist-info") && (await isFolder(path))) found.push(join(path, "direct_url.json"))
    }
  }
  return found
}

/** @returns  undefined when a part of the path is missing, or is no folder */
async function folderIn(top: string, ...names: readonly string[]): Promise<string | undefined> {
  let path = top
  for (const name of names.filter((it) => it !== "" && it !== ".")) {
    path = join(path, name)
    if (!(await isFolder(path))) return undefined
  }
  return path
}

const pathsIn = async (folder: string | undefined): Promise<string[]> =>
  folder === undefined ? [] : (await readdir(folder)).map((name) => join(folder, name))

/** A link does not count as a folder. */
const isFolder = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(ifCode(missing)))?.isDirectory() === true
