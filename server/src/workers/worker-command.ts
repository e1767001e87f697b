/** The command line of a worker process. Pure: everything that differs between languages is here. */
import { endWithParent } from "./end-with-parent.js"

export interface WorkerProgram {
  /** The program that runs `main`: Node's own. */
  readonly execPath: string
  /** Major version of that Node. */
  readonly nodeVersion: number
  /** The file that it runs. */
  readonly main: string
  /** Most memory of the process, in megabytes; 0 for no limit. */
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
    // Node 24 gives the young generation so much room that a LangGraph worker holds 194 MB in place of 123 (measured).
    ...(nodeVersion >= 24 ? ["--max-semi-space-size=8"] : []),
    // The whole limit, not a share of it: JavaScript that leaks is then found by `memory-watch.ts`, which can say so,
    // and V8's own limit only stops what is quicker than the watch.
    ...(memoryMb > 0 ? [`--max-old-space-size=${memoryMb}`] : []),
  ]
}
