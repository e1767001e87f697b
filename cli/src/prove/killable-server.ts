/** An agent server as a process that is killed, paused and started again. It keeps its address and its id over all its lives. */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { closeSync, openSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { endWithParent } from "@superstep/toolkit/exec/end-with-parent"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { childrenOf, killAll, send } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import { serverScript } from "../project/agent-server.js"

// Postgres is away for less than a second; one that exits more often has another reason.
const maxRestarts = 5
// Projects may import much.
const readyMs = 180_000
// More than the message of a graph that does not load.
const endOfLog = 3000

export interface KillableServerOptions {
  readonly name: string
  /** For its log. */
  readonly folder: string
  /** Its environment; address and id are added. */
  readonly env: Readonly<Record<string, string>>
  /** Its working folder; default that of this process. */
  readonly cwd?: string
  /** The main file of its program in each of its lives, counted from 0; default this release's. */
  readonly mainOf?: (life: number) => string
}

/** A server exited before it had loaded its graphs; the message has the end of its log. */
export class ServerEnded extends Error {
  readonly log: string

  constructor(name: string, log: string) {
    super(`${name} ended: ${log}`)
    this.log = log
  }
}

export class KillableServer {
  readonly name: string
  readonly serverId = randomUUID()
  readonly url: string
  readonly #options: KillableServerOptions
  readonly #port: number
  /** The log of all its lives. */
  readonly logFile: string
  /** Where the log of the present life begins, in bytes. */
  #logBegin = 0
  #lives = 0
  #program = serverScript()
  #child: ChildProcess | undefined
  /** Those of its processes that were stopped by `pause`. */
  #paused: readonly number[] = []
  /** Whether it was told to end. */
  #mayEnd = false
  readonly #crashes: string[] = []

  private constructor(options: KillableServerOptions, port: number) {
    this.name = options.name
    this.#options = options
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
    this.logFile = join(options.folder, `${options.name}.log`)
    // This process may exit early, by a failure or a signal: then its servers exit, too.
    process.once("exit", () => this.pid !== undefined && send(this.pid, "SIGKILL"))
  }

  /** It is not started yet. */
  static async create(options: KillableServerOptions): Promise<KillableServer> {
    return new KillableServer(options, await freePort())
  }

  /** The ends of its logs, for each time that it exited by itself after it had been ready. */
  get crashes(): readonly string[] {
    return this.#crashes
  }

  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** It runs and answers no request until `resume`. */
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
    this.#program = this.#options.mainOf?.(this.#lives++) ?? serverScript()
    this.#launch()
  }

  #launch(): void {
    const { env, cwd } = this.#options
    const log = openSync(this.logFile, "a")
    this.#logBegin = statSync(this.logFile).size
    const [command, ...args] = endWithParent([process.execPath, "--enable-source-maps", this.#program])
    this.#child = spawn(command, args, {
      // A terminal's Ctrl-C goes to this process alone, which decides what to do.
      detached: true,
      ...(cwd !== undefined && { cwd }),
      env: { ...env, SUPERSTEP_LISTEN: `127.0.0.1:${this.#port}`, SUPERSTEP_SERVER_ID: this.serverId },
      stdio: ["ignore", log, log],
    })
    closeSync(log)
    this.#mayEnd = false
    this.#child.once("exit", () => {
      if (!this.#mayEnd && this.said("server ready")) this.#crashes.push(this.log().slice(-endOfLog))
    })
  }

  /**
   * Waits until it has loaded its graphs. One that exited while it started, because Postgres was away, is started again as
   * its owner would (ARCHITECTURE.md, §1).
   * @param signal  gives up @param restarts  how often it may exit
   * @throws ServerEnded  it exited each time @throws AbortError
   */
  async untilReady({
    signal,
    restarts = maxRestarts,
  }: {
    signal?: AbortSignal
    restarts?: number
  } = {}): Promise<void> {
    let left = restarts
    const isReady = async () => {
      signal?.throwIfAborted()
      if (!this.isRunning) {
        if (left-- === 0) throw new ServerEnded(this.name, this.log().slice(-endOfLog))
        // In the same program: one that cannot start is a finding.
        this.#launch()
      }
      return this.said("server ready")
    }
    await until(isReady, { what: `${this.name} is ready`, timeoutMs: readyMs })
  }

  /** Kills it, and waits until it and its workers are gone. @returns false when it had exited before */
  async kill(): Promise<boolean> {
    if (this.pid === undefined || this.#child === undefined) return false
    const exited = once(this.#child, "exit")
    this.#mayEnd = true
    await killAll([this.pid, ...this.workerPids()])
    await exited
    return true
  }

  /** Asks it to stop, as its owner does at a shutdown, and does not wait. */
  terminate(): void {
    this.#mayEnd = true
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
