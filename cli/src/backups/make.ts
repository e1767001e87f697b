/** Makes one backup in a process of its own, so that `superstep up` stays as small and as quick as it is. */
import type { Config } from "../command-line/config.js"
import type { Home } from "../home/home.js"
import { startChild } from "../processes/child.js"

const stopMs = 5000

/**
 * Runs `superstep backup`. It ends with this program, and with the signal.
 * @returns  undefined when it succeeded, or its last words
 */
export async function makeBackup(
  { home, config }: { home: Home; config: Config },
  file: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const lines: string[] = []
  const child = await startChild({
    // The program that runs now: its file, as Node was given it.
    script: process.argv[1] ?? "",
    args: ["backup", file, "--home", home.folder],
    cwd: home.folder,
    env: config.environment,
    onLine: (line) => lines.push(line),
  })
  const stop = () =>
    void child.stop(stopMs).catch((err: unknown) => home.log.error({ err }, "a backup cannot be ended"))
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  const exit = await child.exited
  signal.removeEventListener("abort", stop)
  if (exit.code === 0) return undefined
  const words = lines.findLast((line) => line.trim() !== "")?.replace(/^\s*✖\s*/, "")
  return words ?? `superstep backup ${exit.words}`
}
