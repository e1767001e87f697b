/** Folders for tests, removed when the test process exits. */
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folders: string[] = []

/**
 * @returns  a new folder, which other users may read, since an embedded Postgres of a root process runs as another user. It
 *           is removed when the process exits, except after a kill
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
    // Published artifacts are read-only, so only root could delete them otherwise.
    execFileSync("chmod", ["-R", "u+rwX", folder])
    rmSync(folder, { recursive: true, force: true })
  }
}
