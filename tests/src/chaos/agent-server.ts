/** One agent server as a process of its own, which keeps its address and its id over all its lives. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { childrenOf, killAll, send } from "./processes.js"

const main = fileURLToPath(import.meta.resolve("@superstep/server/main"))
const project = fileURLToPath(new URL("../../chaos/langgraph.json", import.meta.url))

/** Most connections of a server, the listening one not counted. */
export const poolSize = 8

// Postgres is away for less than a second; one that ends oftener has another reason.
const maxRestarts = 5

export interface AgentServerOptions {
  readonly name: string
  readonly databaseUri: string
  /** For its log and its temporary files. */
  readonly folder: string
  /** Where nodes tell that they execute. */
  readonly effectsFile: string
  /** How far its workers' clock is ahead, for graphs that import `clock.mjs`. */
  readonly clockAheadMs: number
  readonly env?: Readonly<Record<string, string>>
  /** The main file of its program in each of its lives, counted from 0; default this clone's. */
  readonly mainOf?: (life: number) => string
}

export class AgentServer {
  readonly name: string
  readonly serverId = randomUUID()
  readonly url: string
  readonly #options: AgentServerOptions
  readonly #port: number
  /** The log of all its lives. */
  readonly logFile: string
  /** Where the log of the present life begins, in bytes. */
  #logBegin = 0
  #lives = 0
  #program = main
  #child: ChildProcess | undefined
  /** Those of it that were stopped by `pause`. */
  #paused: readonly number[] = []

  private constructor(options: AgentServerOptions, port: number) {
    this.name = options.name
    this.#options = options
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
    this.logFile = join(options.folder, `${options.name}.log`)
    // A test process that ends early, by a failure or a signal, takes its servers along.
    process.once("exit", () => this.pid !== undefined && send(this.pid, "SIGKILL"))
  }

  /** It is not started yet. */
  static async create(options: AgentServerOptions): Promise<AgentServer> {
    mkdirSync(join(options.folder, "tmp"), { recursive: true })
    return new AgentServer(options, await freePort())
  }

  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** It lives and answers nobody, until `resume`. */
  get isPaused(): boolean {
    return this.#paused.length > 0
  }

  /** Stops the server, with its workers or without them, as a machine that is suspended or starved does. */
  pause({ withWorkers }: { readonly withWorkers: boolean }): void {
    if (this.pid === undefined) return
    this.#paused = [this.pid, ...(withWorkers ? this.workerPids() : [])]
    for (const pid of this.#paused) send(pid, "SIGSTOP")
  }

  resume(): void {
    for (const pid of this.#paused) send(pid, "SIGCONT")
    this.#paused = []
  }

  workerPids(): number[] {
    return this.pid === undefined ? [] : childrenOf(this.pid)
  }

  /** Starts it unless it runs; it may take some time until it answers. */
  start(): void {
    if (this.isRunning) return
    this.#program = this.#options.mainOf?.(this.#lives++) ?? main
    this.#launch()
  }

  #launch(): void {
    const log = openSync(this.logFile, "a")
    this.#logBegin = statSync(this.logFile).size
    this.#child = spawn(process.execPath, ["--enable-source-maps", this.#program], {
      env: this.#env(),
      stdio: ["ignore", log, log],
    })
    closeSync(log)
  }

  #env(): Record<string, string> {
    const { databaseUri, folder, effectsFile, clockAheadMs, env } = this.#options
    const forGraphs = { CHAOS_EFFECTS: effectsFile, CHAOS_CLOCK_AHEAD_MS: String(clockAheadMs) }
    return {
      PATH: process.env.PATH ?? "",
      TMPDIR: join(folder, "tmp"),
      SUPERSTEP_CONFIG: project,
      DATABASE_URI: databaseUri,
      SUPERSTEP_LISTEN: `127.0.0.1:${this.#port}`,
      SUPERSTEP_SERVER_ID: this.serverId,
      SUPERSTEP_AGENT_ENV: JSON.stringify(forGraphs),
      LANGGRAPH_POSTGRES_POOL_MAX_SIZE: String(poolSize),
      // Some promises are kept silently (marks.ts).
      LOG_LEVEL: "debug",
      ...env,
    }
  }

  /**
   * Waits until it has loaded its graphs. One that ended while it started, because Postgres was away, is started again as
   * its owner would (ARCHITECTURE.md, §1).
   */
  async untilReady(): Promise<void> {
    let restarts = 0
    const isReady = async () => {
      if (!this.isRunning) {
        if (restarts++ === maxRestarts) throw new Error(`${this.name} ended: ${this.log().slice(-3000)}`)
        // In the same program: one that cannot start is a finding.
        this.#launch()
      }
      return this.said("server ready")
    }
    await until(isReady, { what: `${this.name} is ready`, timeoutMs: 60_000 })
  }

  /** Ends it without a word, and waits until it and its workers are gone. @returns false when it had ended before */
  async kill(): Promise<boolean> {
    if (this.pid === undefined || this.#child === undefined) return false
    const exited = once(this.#child, "exit")
    await killAll([this.pid, ...this.workerPids()])
    await exited
    return true
  }

  /** Asks it to stop, as its owner does at a shutdown, and does not wait. */
  terminate(): void {
    if (this.pid !== undefined) send(this.pid, "SIGTERM")
  }

  /** Asks it to stop and waits until it has. @returns its exit code, or the signal that ended it */
  async stop(): Promise<number | string | null> {
    if (this.#child === undefined) return 0
    if (this.isRunning) {
      const exited = once(this.#child, "exit")
      this.terminate()
      await exited
    }
    return this.#child.exitCode ?? this.#child.signalCode
  }

  /** The log of its present life. */
  log(): string {
    return readFileSync(this.logFile).subarray(this.#logBegin).toString("utf8")
  }

  /** Whether its present life has logged this phrase. */
  said(phrase: string): boolean {
    return this.log().includes(`"msg":"${phrase}"`)
  }
}
