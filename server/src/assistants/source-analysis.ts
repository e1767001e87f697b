/**
 * The schemas that only a graph's source tells, read by TypeScript's compiler in a process of its own: it takes seconds
 * and some hundred megabytes, which neither this process nor a worker with runs has to give (protocol-v2 §3.7). It is
 * started only when somebody asks, one at a time, and each graph once until the project is loaded again. Graphs that are
 * asked for while it works are read together next: their packages, which take most of the time, are read once for all.
 * A source that cannot be read tells nothing; that is no failure of the request.
 */
import { fileURLToPath } from "node:url"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import type { Log } from "@superstep/toolkit/log/log"
import type { WorkerProject } from "../workers/child.js"
import { endWithParent } from "../workers/end-with-parent.js"
import { languageOf } from "../workers/languages.js"
import type { GraphSchemas } from "./graph-schemas.js"

/** By namespace; the graph itself has the empty one. */
export type SourceSchemas = Readonly<Record<string, GraphSchemas>>

/** What reads sources. */
export interface SourceReader {
  /** @returns what the source of a graph tells; nothing where it cannot be read */
  schemasOf(graphId: string): Promise<SourceSchemas>
}

export interface SourceAnalysisOptions {
  readonly project: Pick<WorkerProject, "folder" | "graphs">
  /** How long one graph may take, in milliseconds. */
  readonly timeoutMs: number
  readonly log: Log
}

const program = fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse"))

// The compiler holds all types of a project's packages; three times what LangGraph with LangChain needs.
const memoryMb = 1024

// A schema is some kilobytes, one of a large library's types a megabyte.
const maxOutputBytes = 16 * 1024 * 1024

const nothing: SourceSchemas = {}

/** A graph that waits for its turn. */
interface Waiting {
  readonly graphId: string
  readonly path: string
  resolve(schemas: SourceSchemas): void
  reject(error: unknown): void
}

/** What `analyse` says of one graph. */
type Answer = { readonly schemas: SourceSchemas } | { readonly error: string }

export class SourceAnalysis implements SourceReader {
  readonly #options: SourceAnalysisOptions
  readonly #stopped = new AbortController()
  #project: SourceAnalysisOptions["project"]
  #known = new Map<string, Promise<SourceSchemas>>()
  #waiting: Waiting[] = []
  #reading: Promise<void> | undefined

  constructor(options: SourceAnalysisOptions) {
    this.#options = options
    this.#project = options.project
  }

  /** The sources have changed. */
  reload(project: SourceAnalysisOptions["project"]): void {
    this.#project = project
    this.#known = new Map()
  }

  schemasOf(graphId: string): Promise<SourceSchemas> {
    const known = this.#known
    const before = known.get(graphId)
    if (before) return before
    const path = this.#project.graphs[graphId]
    if (path === undefined || languageOf(path) !== "javascript") return Promise.resolve(nothing)
    const schemas = this.#inTurn(graphId, path).catch((err: unknown) => {
      // Nobody waits for it a second time in vain, but whoever asks later may find a machine that is less busy.
      known.delete(graphId)
      if (!this.#stopped.signal.aborted)
        this.#options.log.warn({ err, graph_id: graphId }, "a graph's source tells no schemas")
      return nothing
    })
    known.set(graphId, schemas)
    return schemas
  }

  /** Ends what is being read. */
  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#reading
  }

  #inTurn(graphId: string, path: string): Promise<SourceSchemas> {
    const answer = new Promise<SourceSchemas>((resolve, reject) => {
      this.#waiting.push({ graphId, path, resolve, reject })
    })
    this.#reading ??= this.#readOn()
    return answer
  }

  async #readOn(): Promise<void> {
    while (this.#waiting.length > 0) {
      // What is asked for in the same moment is read together.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.splice(0)
      try {
        const answers = await this.#read(batch)
        batch.forEach(({ resolve, reject }, index) => {
          const answer = answers[index]
          if (answer && "schemas" in answer) resolve(answer.schemas)
          else reject(new Error(answer?.error ?? "its reader said nothing"))
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#reading = undefined
  }

  async #read(batch: readonly Waiting[]): Promise<Answer[]> {
    const { log, timeoutMs } = this.#options
    const { folder } = this.#project
    const startedAt = performance.now()
    const paths = batch.map(({ path }) => path)
    const { stdout } = await runCommand({
      argv: endWithParent([process.execPath, `--max-old-space-size=${memoryMb}`, program, folder, ...paths]),
      cwd: folder,
      env: {},
      timeoutMs: timeoutMs * batch.length,
      signal: this.#stopped.signal,
      maxOutputBytes,
    })
    const graphs = batch.map(({ graphId }) => graphId)
    log.info({ graphs, duration_ms: Math.round(performance.now() - startedAt) }, "read the sources of graphs")
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Answer)
  }
}
