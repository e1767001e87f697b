/** The fetched trees of builds: where the control plane puts them, and where builds take them from. */
import { chmod, lchown, lstat, mkdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { makeEmptyFolder } from "@superstep/toolkit/files/empty-folder"
import { takeFrom } from "@superstep/toolkit/files/own-tree"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { type MachineFolders, workFolder } from "../files/folders.js"
import { controlUserOf, type Isolation } from "../isolation/isolation.js"

export interface SourceTrees {
  /** @returns  where the tree is to be put: a path of a folder that does not exist yet */
  prepare(revisionId: string): Promise<string>
  has(revisionId: string): Promise<boolean>
  /** After this only we can change it. May be repeated, also after a kill. @returns  its path */
  take(revisionId: string): Promise<string>
}

export function sourceTrees(folders: Pick<MachineFolders, "work">, isolation: Pick<Isolation, "user">): SourceTrees {
  const placeOf = (revisionId: string) => workFolder(folders, revisionId)
  const take = async (revisionId: string): Promise<string> => {
    const { fetched, tree } = placeOf(revisionId)
    const control = controlUserOf(isolation)
    // False when an earlier call was killed after the rename.
    if (await isThere(fetchedTree(fetched))) {
      if (control) {
        await lchown(fetched, 0, 0)
        await chmod(fetched, 0o700)
        await takeFrom(fetchedTree(fetched), control)
      }
      await rename(fetchedTree(fetched), tree)
    }
    await removeTree(fetched)
    return tree
  }
  return {
    prepare: async (revisionId) => {
      const { folder, fetched } = placeOf(revisionId)
      await mkdir(folder, { recursive: true, mode: 0o755 })
      await makeEmptyFolder(fetched, controlUserOf(isolation) ?? null)
      return fetchedTree(fetched)
    },
    has: async (revisionId) => {
      const { fetched, tree } = placeOf(revisionId)
      return (await isThere(tree)) || (await isThere(fetchedTree(fetched)))
    },
    take,
  }
}

const fetchedTree = (fetched: string): string => join(fetched, "tree")

const isThere = (path: string): Promise<boolean> => lstat(path).then(() => true, ifCode(missing, false))
