/**
 * The schemas that exist only in a graph's source. The control plane stores those of a deployment some time after it was
 * deployed; elsewhere they are stored from one start to the next while no source changes (`kept-schemas.ts`). Until then they
 * are read by TypeScript's compiler in a separate process, since it takes seconds and some hundred megabytes, too much for this
 * process or a worker with runs (protocol-v2 §3.7). It is started only on request, and reads all graphs of the project at once: their
 * packages, which take most of the time, are read once for all. If that fails, it reads each graph alone. A source that cannot
 * be read gives no schemas; the request does not fail, its answer says so, and a later one tries again.
 */
import { fileURLToPath } from "node:url"
import { endWithParent } from "@superstep/toolkit/exec/end-with-parent"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import type { Log } from "@superstep/toolkit/log/log"
import type { WorkerProject } from "../workers/child.js"
import { languageOf } from "../workers/languages.js"
import type { SourceSchemas } from "./graph-schemas.js"
import { readKeptSchemas } from "./kept-schemas.js"

/** Reads sources. */
export interface SourceReader {
  /** @returns the schemas from a graph's source; undefined when it could not be read this time: a later call tries again */
  schemasOf(graphId: string): Promise<SourceSchemas | undefined>
}

export interface SourceAnalysisOptions {
  readonly project: Pick<WorkerProject, "folder" | "graphs">
  /** How long a reading may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether results are stored in the project's folder. A server must not write to an artifact's folder. */
  readonly keeps: boolean
  readonly log: Log
}

const program = fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse"))

// The compiler keeps all types of a project's packages in memory. This is three times what LangGraph with LangChain needs.
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

/** The output of `analyse` for one graph. */
type Answer = { readonly schemas: SourceSchemas } | { readonly error: string }

export class SourceAnalysis implements SourceReader {
  readonly #options: SourceAnalysisOptions
  readonly #stopped = new AbortController()
  #project: SourceAnalysisOptions["project"]
  #known = new Map<string, Promise<SourceSchemas | undefined>>()
  /** The stored schemas, once a request has found what it needed. */
  #kept: Promise<ReadonlyMap<string, SourceSchemas>> | undefined
  #waiting: Waiting[] = []
  #reading: Promise<void> | undefined

  constructor(options: SourceAnalysisOptions) {
    this.#options = options
    this.#project = options.project
  }

  /** Called when the sources have changed. */
  reload(project: SourceAnalysisOptions["project"]): void {
    this.#project = project
    this.#known = new Map()
    this.#kept = undefined
  }

  schemasOf(graphId: string): Promise<SourceSchemas | undefined> {
    const before = this.#known.get(graphId)
    if (before) return before
    const path = this.#sourceOf(graphId)
    return path === undefined ? Promise.resolve(nothing) : this.#remember(graphId, this.#keptOrRead(graphId, path))
  }

  #sourceOf(graphId: string): string | undefined {
    const path = this.#project.graphs[graphId]
    return path !== undefined && languageOf(path) === "javascript" ? path : undefined
  }

  #remember(graphId: string, reading: Promise<SourceSchemas>): Promise<SourceSchemas | undefined> {
    const known = this.#known
    const schemas = reading.catch((err: unknown) => {
      // This request is not retried; a later one may find a less busy machine.
      known.delete(graphId)
      if (!this.#stopped.signal.aborted)
        this.#options.log.warn({ err, graph_id: graphId }, "the schemas of a graph could not be read from its source")
      return undefined
    })
    known.set(graphId, schemas)
    return schemas
  }

  /** Stops the present reading. */
  async close(): Promise<void> {
    this.#stopped.abort()
    await this.#reading
  }

  async #keptOrRead(graphId: string, path: string): Promise<SourceSchemas> {
    if (this.#stopped.signal.aborted) return nothing
    const known = this.#known
    this.#kept ??= readKeptSchemas(this.#project.folder, this.#options.log)
    const kept = await this.#kept
    const schemas = kept.get(path)
    if (schemas) return schemas
    // They may be stored at any time, so the next request checks again.
    this.#kept = undefined
    const answer = this.#inTurn(graphId, path)
    if (known === this.#known) this.#readOthers(kept)
    return answer
  }

  /** The others of the project are read together with a graph that was requested. */
  #readOthers(kept: ReadonlyMap<string, SourceSchemas>): void {
    for (const graphId of Object.keys(this.#project.graphs)) {
      const path = this.#sourceOf(graphId)
      if (path !== undefined && !kept.has(path) && !this.#known.has(graphId))
        this.#remember(graphId, this.#inTurn(graphId, path))
    }
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
      // Graphs requested at the same moment are read together.
      await new Promise((resolve) => setImmediate(resolve))
      const batch = this.#waiting.splice(0)
      await this.#answer(batch).catch(async (error: unknown) => {
        // One of them may have taken all time or memory.
        if (batch.length > 1 && !this.#stopped.signal.aborted) for (const one of batch) await this.#answerAlone(one)
        else for (const { reject } of batch) reject(error)
      })
    }
    this.#reading = undefined
  }

  async #answerAlone(one: Waiting): Promise<void> {
    await this.#answer([one]).catch(one.reject)
  }

  async #answer(batch: readonly Waiting[]): Promise<void> {
    const answers = await this.#read(batch)
    batch.forEach(({ resolve, reject }, index) => {
      const answer = answers[index]
      if (answer && "schemas" in answer) resolve(answer.schemas)
      else reject(new Error(answer?.error ?? "its reader said nothing"))
    })
  }

  async #read(batch: readonly Waiting[]): Promise<Answer[]> {
    const { log, timeoutMs, keeps } = this.#options
    const { folder } = this.#project
    const startedAt = performance.now()
    const paths = batch.map(({ path }) => path)
    const keep = keeps ? ["--keep", "--"] : ["--"]
    const { stdout } = await runCommand({
      argv: endWithParent([process.execPath, `--max-old-space-size=${memoryMb}`, program, ...keep, folder, ...paths]),
      cwd: folder,
      env: {},
      timeoutMs,
      signal: this.#stopped.signal,
      maxOutputBytes,
    })
    const graphs = batch.map(({ graphId }) => graphId)
    log.info(
      { graphs, duration_ms: Math.round(performance.now() - startedAt) },
      "read the schemas of graphs from their sources",
    )
    return stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Answer)
  }
}
