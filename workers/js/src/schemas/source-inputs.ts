/** Records what a reading of sources depends on, so that its result can be stored until one of these things changes. */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { SourceInputs } from "@superstep/protocol/worker/kept-schemas"

import ts = require("typescript-api")

/** The functions of the system that the compiler calls. */
export type SourceSystem = Pick<ts.System, "fileExists" | "readFile" | "directoryExists">

export class SourceRecorder {
  readonly #files = new Map<string, string>()
  readonly #absent = new Set<string>()

  readonly system: SourceSystem = {
    fileExists: (path) => this.#noted(path, ts.sys.fileExists(path)),
    directoryExists: (path) => {
      const exists = ts.sys.directoryExists(path)
      if (!exists) this.#missed(path)
      return exists
    },
    readFile: (path, encoding) => {
      // Hashed before it is read: after a change in between, the hash does not match.
      this.#noted(path, ts.sys.fileExists(path))
      return ts.sys.readFile(path, encoding)
    },
  }

  get inputs(): SourceInputs {
    // Our own program is an input too: another release may read the same sources differently. TypeScript's libraries are recorded as read.
    this.#noted(fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse")), true)
    return { files: Object.fromEntries(this.#files), absent: [...this.#absent] }
  }

  #noted(path: string, exists: boolean): boolean {
    if (!exists) this.#missed(path)
    else if (!this.#files.has(path)) this.#files.set(path, hashOf(path))
    return exists
  }

  /** Records a path as absent. A folder at the path of a wanted file (or the reverse) does not count: its content is recorded. */
  #missed(path: string): void {
    if (!existsSync(path)) this.#absent.add(path)
  }
}

function hashOf(path: string): string {
  try {
    return createHash("sha256").update(readFileSync(path)).digest("hex")
  } catch {
    // The file vanished or is not readable. No file has this hash, so everything that depends on it is read again.
    return "unreadable"
  }
}
