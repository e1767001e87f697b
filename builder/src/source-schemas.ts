/**
 * Reads the schemas of an artifact's graphs from their sources, for agent servers (protocol, `kept-schemas.ts`). No code of the
 * project runs, but a compiler reads it: as the user who builds, in a namespace of its own, with limits of time, memory and output.
 * It has the lowest priority, and ends with this process.
 */
import { dirname, join } from "node:path"
import { endWithParent } from "@superstep/toolkit/exec/end-with-parent"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { confinedArgv, findConfinement } from "./confinement.js"

// The compiler keeps all types of a project's packages in memory. This is three times what LangGraph with LangChain needs.
const memoryMb = 1024
// A schema is some kilobytes, one of a large library's types a megabyte.
const maxOutputBytes = 16 * 1024 * 1024
// It writes no files.
const maxFileMb = 1

export interface SourceReading {
  readonly artifactFolder: string
  /** The path of `langgraph.json` in the artifact. */
  readonly configPath: string
  /** The program that reads sources (workers/js, `analyse.ts`). */
  readonly analyseEntry: string
  /** Null where all run as our own user. */
  readonly user: OsUser | null
  /** Searched for the programs that confine it. */
  readonly path: string
  readonly limitMs: number
  readonly signal: AbortSignal
}

/**
 * @returns  the content of the file for stored schemas
 * @throws CommandFailed  the compiler failed, exceeded a limit or was stopped
 */
export async function readSourceSchemas(reading: SourceReading): Promise<string> {
  const { artifactFolder, configPath, analyseEntry, user, limitMs, signal } = reading
  const env = { PATH: reading.path }
  const confinement = await findConfinement(env)
  const options = [`--max-old-space-size=${memoryMb}`, analyseEntry, "--artifact"]
  const configFile = join(artifactFolder, configPath)
  const argv = [process.execPath, ...options, "--", configFile] as const
  const { stdout, truncated } = await runCommand({
    argv: endWithParent(confinedArgv(argv, confinement, { user, maxFileMb })),
    cwd: dirname(configFile),
    env,
    // With a namespace, the change of user comes after its creation, which needs root.
    user: confinement.isNamespace ? undefined : (user ?? undefined),
    timeoutMs: limitMs,
    signal,
    maxOutputBytes,
  })
  if (truncated) throw new Error(`the schemas are larger than ${maxOutputBytes} bytes`)
  return stdout
}
