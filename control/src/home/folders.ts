/** The layout of the control plane's part of the data folder; the machine has its own (machines/src/parts/files/folders.ts). Pure. */
import { join } from "node:path"

export interface Folders {
  readonly home: string
  /** What the control plane alone writes. */
  readonly control: string
  /** Uploaded archives of releases before 0.2. */
  readonly formerUploads: string
  /** Keys for git hosts, each only while git runs. */
  readonly gitKeys: string
  /** Code that is being compared. */
  readonly comparedCode: string
  /** Git's `HOME`. */
  readonly gitHome: string
}

export function foldersOf(home: string): Folders {
  const control = join(home, "control")
  return {
    home,
    control,
    formerUploads: join(home, "uploads"),
    gitKeys: join(control, "git-keys"),
    comparedCode: join(control, "compared-code"),
    gitHome: join(control, "git-home"),
  }
}
