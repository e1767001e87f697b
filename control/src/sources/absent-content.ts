/** Content that a commit only names and that is not fetched: submodules, and files of Git LFS. */
import { open } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"

const pointerStart = "version https://git-lfs.github.com/spec/"
// A note is for people: the first ones show what the problem is.
const mostNamed = 10

/**
 * @param tree  of the commit, in `folder`
 * @returns     notes for the build log
 */
export async function absentContent(
  folder: string,
  tree: { readonly submodules: readonly string[]; readonly maybePointers: readonly string[] },
): Promise<string[]> {
  const pointers: string[] = []
  for (const path of tree.maybePointers) if (await isPointer(join(folder, path))) pointers.push(path)
  return [
    ...named(tree.submodules, "is a git submodule, which is not fetched: add its files to the repository"),
    ...named(pointers, "is a pointer of Git LFS, whose file is not fetched: add the file itself to the repository"),
  ]
}

function named(paths: readonly string[], what: string): string[] {
  const rest = paths.length - mostNamed
  return [...paths.slice(0, mostNamed).map((path) => `${path} ${what}`), ...(rest > 0 ? [`and ${rest} more`] : [])]
}

async function isPointer(path: string): Promise<boolean> {
  // A path that this machine cannot have was written under another name.
  const file = await open(path).catch(ifCode([...missing, "ELOOP", "EISDIR"]))
  if (!file) return false
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(pointerStart.length), 0, pointerStart.length, 0)
    return buffer.toString("latin1", 0, bytesRead) === pointerStart
  } finally {
    await file.close()
  }
}
