/** Starts a process that swaps folders for links, in a race with code that works in them by path (`swapper-main.ts`). */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chownSync, mkdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { OsUser } from "../../exec/spawn-detached.js"

const program = fileURLToPath(new URL("swapper-main.js", import.meta.url))

/**
 * Creates folders `f0`, `f1` … with an empty file `kept` in each, and swaps them for links to `victim` until it is disposed,
 * or until the folder is no longer its own.
 * @param folder  created if necessary
 * @param user    the user of the process; only for root
 */
export async function swapperIn(
  folder: string,
  { victim, count, user }: { readonly victim: string; readonly count: number; readonly user?: OsUser },
): Promise<AsyncDisposable> {
  mkdirSync(folder, { recursive: true })
  if (user) chownSync(folder, user.uid, user.gid)
  const stdio = ["ignore", "pipe", "inherit"] as const
  const child = spawn(process.execPath, [program, folder, victim, String(count)], { ...user, stdio: [...stdio] })
  const ended = once(child, "exit")
  await once(child.stdout as NodeJS.EventEmitter, "data")
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    },
  }
}
