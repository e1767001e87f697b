/** Folders for tests, gone when the test process is. */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folders: string[] = []

/**
 * @returns  a new folder, which other users may read: an embedded Postgres of a root process must reach it. It is
 *           removed when the process ends, in whatever way it ends by itself
 */
export function temporaryFolder(): string {
  if (folders.length === 0) process.once("exit", () => folders.forEach(remove))
  const folder = mkdtempSync(join(tmpdir(), "superstep-test-"))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
    // Published artefacts are read-only, which holds back everybody but root.
    execFileSync("chmod", ["-R", "u+rwX", folder])
    rmSync(folder, { recursive: true, force: true })
  }
}
