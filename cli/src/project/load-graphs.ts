/** Loads the graphs of a project as a build does, in a process of its own. */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { CommandFailed, runCommand } from "@superstep/toolkit/exec/run-command"
import { z } from "zod"

const report = z.object({
  graphs: z.array(z.string()),
  failed: z.array(z.object({ graph_id: z.string(), message: z.string(), code_frame: z.string().optional() })),
  /** Names of each graph's nodes; a graph whose factory needs a config is left out. */
  nodes: z.record(z.string(), z.array(z.string())).default({}),
})

export type LoadedGraphs = z.output<typeof report>

export class GraphsNotLoaded extends KnownError {
  readonly code = "graphs_not_loaded"
}

const verifyScript = (): string => fileURLToPath(import.meta.resolve("@superstep/worker-js/verify"))

// As the build's own limit (SUPERSTEP_TIMEOUT_VERIFY).
const limitMs = 60_000

/**
 * @param env       the whole environment of the graphs' code
 * @param onOutput  gets what that code prints
 * @throws GraphsNotLoaded  the process ended without a result
 */
export async function loadGraphs(
  { configPath, folder }: { readonly configPath: string; readonly folder: string },
  { env, onOutput }: { env: Readonly<Record<string, string>>; onOutput: (chunk: Buffer) => void },
): Promise<LoadedGraphs> {
  const temporary = await mkdtemp(join(tmpdir(), "superstep-check-"))
  const resultFile = join(temporary, "graphs.json")
  const argv = [process.execPath, verifyScript(), configPath, resultFile, "nodes"] as const
  try {
    // It exits with 1 when a graph does not load, and the result says which.
    const failure = await runCommand({ argv: [...argv], cwd: folder, env, timeoutMs: limitMs, onOutput }).then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof CommandFailed)) throw error
        return error
      },
    )
    const text = await readFile(resultFile, "utf8").catch(ifCode(missing))
    if (text === undefined || failure?.killedBy !== undefined) {
      const reason =
        failure?.killedBy === "timeout" ? "takes longer than a minute" : (failure?.message ?? "gave no result")
      throw new GraphsNotLoaded(`loading the graphs ${reason}`)
    }
    return report.parse(JSON.parse(text))
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}
