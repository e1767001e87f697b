/** The layout of the control plane's part of the data folder; the machine has its own (machines/process/folders.ts). Pure. */
import { join } from "node:path"

export interface Folders {
  readonly home: string
  /** Archives that clients uploaded. */
  readonly uploads: string
  /** Keys for git hosts, each only while git runs. */
  readonly gitKeys: string
  /** Git's `HOME`. */
  readonly gitHome: string
}

export const foldersOf = (home: string): Folders => ({
  home,
  uploads: join(home, "uploads"),
  gitKeys: join(home, "git-keys"),
  gitHome: join(home, "git-home"),
})
