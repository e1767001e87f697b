/** The command line of a worker process. Pure. Everything that differs between languages is here. */
import { endWithParent } from "@superstep/toolkit/exec/end-with-parent"

export interface WorkerProgram {
  /** The program that runs `main`: Node's own. */
  readonly execPath: string
  /** Major version of that Node. */
  readonly nodeVersion: number
  /** The file that it runs. */
  readonly main: string
  /** The memory limit of the process, in megabytes; 0 for no limit. */
  readonly memoryMb: number
}

/** @returns program and arguments; on Linux they end with their parent (P10) */
export const pythonCommand = (interpreter: string, main: string): readonly [string, ...string[]] =>
  endWithParent([interpreter, main])

/** @returns program and arguments; on Linux they end with their parent (P10) */
export const workerCommand = (program: WorkerProgram): readonly [string, ...string[]] =>
  endWithParent([program.execPath, ...nodeOptions(program), program.main])

function nodeOptions({ nodeVersion, memoryMb }: WorkerProgram): string[] {
  return [
    // Else SIGUSR1, which tools that rotate logs send too, opens Node's inspector, in which every user of the machine may execute code. Node 20
    // has no such option. A project that asks for the inspector (`NODE_OPTIONS=--inspect`) gets it.
    ...(nodeVersion >= 24 ? ["--disable-sigusr1"] : []),
    // Node 24's default for the young generation makes a LangGraph worker use 194 MB instead of 123 (measured).
    ...(nodeVersion >= 24 ? ["--max-semi-space-size=8"] : []),
    // The whole limit, not a share of it: then `memory-watch.ts` notices a leak and can report it, and V8's own limit only
    // stops code that allocates faster than the watch checks.
    ...(memoryMb > 0 ? [`--max-old-space-size=${memoryMb}`] : []),
  ]
}
