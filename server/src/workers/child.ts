/**
 * One process of a worker, from its start to its end. It owns the process, its connection and its heartbeat.
 * P2: the end is told once, when the process has exited and all that it had written was read, so a `done` that was
 * sent just before an exit counts. P3: a process without its connection is killed, and a stop that lasts is a kill.
 * P15: what it started ends with it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import type { LoadedFrame, Loopback } from "@superstep/protocol/worker/frames"
import type { Log } from "@superstep/toolkit/log/log"
import type { CallHandlers } from "./calls.js"
import type { Connection } from "./connection.js"
import { exitReason } from "./exit-reason.js"
import { type Heartbeat, startHeartbeat } from "./heartbeat.js"
import { type Language, languageOf, pythonOf, withoutPython } from "./languages.js"
import { watchMemory } from "./memory-watch.js"
import { killGroup } from "./process-group.js"
import { Session } from "./session.js"
import { pythonCommand, workerCommand } from "./worker-command.js"
import { workerEnv } from "./worker-env.js"
import type { WorkerSocket } from "./worker-socket.js"

/** What a worker loads; its graphs are of one language. */
export interface WorkerProject {
  /** Absolute path of the folder of `langgraph.json`. */
  readonly folder: string
  /** `path:export` by graph id. */
  readonly graphs: Readonly<Record<string, string>>
  /** `path:export` of the auth module and of the HTTP app; only the gate loads them. */
  readonly auth?: string | undefined
  readonly app?: string | undefined
  /** The environment of the user's code. */
  readonly env: Readonly<Record<string, string>>
}

/** What all processes of a pool share. */
export interface ChildSetting {
  readonly socket: WorkerSocket
  readonly handlers: CallHandlers
  /** What to wait for before more is read from a worker that has called; undefined while there is room. */
  readonly backlog: () => Promise<void> | undefined
  readonly log: Log
  /** This process's environment; see `worker-env.ts` for the little that is passed on. */
  readonly serverEnv: NodeJS.ProcessEnv
  /** The file that each language's program runs. */
  readonly mains: Readonly<Record<Language, string>>
  /** How user code reaches this server; undefined where it cannot. */
  readonly loopback?: Loopback | undefined
  /** The program of Python, where a project has none of its own. */
  readonly python: string
  readonly limits: Limits
}

export interface Limits {
  /** Most runs of a worker at a time. */
  readonly mostRuns: number
  /** How long loading the graphs may take, in milliseconds. */
  readonly loadMs: number
  /** How often a worker is pinged, and how long it may leave that unanswered, in milliseconds. */
  readonly pingEveryMs: number
  readonly stalledMs: number
  /** Most memory of a worker, in megabytes, 0 for no limit; and how often to look, in milliseconds. */
  readonly memoryMb: number
  readonly memoryEveryMs: number
  /** How long a worker may take to exit after `stop`, in milliseconds. */
  readonly stopMs: number
  /** How long a worker may take to answer a call, in milliseconds. */
  readonly callMs: number
  /** How long a run that finds no worker waits for one, in milliseconds. */
  readonly holdMs: number
  /** How long a run that executes alone must go well before the next one gets its place, in milliseconds. */
  readonly provenMs: number
}

export interface ChildEnd {
  /** It was told to. */
  readonly isStopped: boolean
  readonly isKilledByOthers: boolean
  /** A run or a question was in it. */
  readonly wasBusy: boolean
}

export interface ChildListener {
  onLoaded(frame: LoadedFrame): void
  onRunLeft(): void
  /** It takes new runs again after it did not. */
  onRoom(): void
  /** @param detail  such as `exit code 1`, `signal SIGKILL` or why we ended it */
  onEnded(detail: string, end: ChildEnd): void
}

// A process that ends closes its socket and then exits, or so it looks from here: the one tells of the other within
// moments. When it does not, somebody else holds the socket, or the worker lives on without it.
const settleMs = 1000

// How `setpriv`, like a shell, says that it found no such program.
const notFoundCode = 127

export class Child {
  readonly #workerId: string
  readonly #project: WorkerProject
  readonly #setting: ChildSetting
  readonly #listener: ChildListener
  readonly #process: ChildProcess
  readonly #stopExpecting: () => void
  #connection: Connection | undefined
  #session: Session | undefined
  #heartbeat: Heartbeat | undefined
  #stopWatchingMemory: () => void = () => undefined
  #timer: NodeJS.Timeout | undefined
  #isLoaded = false
  #isOpen = false
  #isStopping = false
  #exit: string | undefined
  #killedBecause: string | undefined
  /** Whether a signal ended it, which is not always ours. */
  #isSignalled = false

  constructor(workerId: string, project: WorkerProject, setting: ChildSetting, listener: ChildListener) {
    this.#workerId = workerId
    this.#project = project
    this.#setting = setting
    this.#listener = listener
    this.#stopExpecting = setting.socket.expect(workerId, (connection) => this.#connected(connection))
    this.#process = this.#spawn()
    this.#killAfter(setting.limits.loadMs, "it did not load its graphs in time")
  }

  /** The conversation, once the worker has loaded and while it lives. */
  get session(): Session | undefined {
    return this.#isLoaded && this.#isOpen ? this.#session : undefined
  }

  /** Whether its event loop runs; true until a ping says otherwise. */
  get isAnswering(): boolean {
    return this.#heartbeat?.isAnswering ?? true
  }

  /** Asks the worker to exit, and kills it when it does not. The end is told by `onEnded`. */
  stop(): void {
    this.#isStopping = true
    // Its end is about to be told.
    if (this.#exit !== undefined) return
    this.#session?.stop()
    if (this.#session === undefined) this.kill("it was stopped")
    else this.#killAfter(this.#setting.limits.stopMs, "it was stopped")
  }

  /** Ends the process with all that it started. */
  kill(because: string): void {
    this.#killedBecause ??= because
    if (this.#exit === undefined && this.#process.pid !== undefined) killGroup(this.#process.pid)
  }

  #spawn(): ChildProcess {
    const { serverEnv, socket, limits } = this.#setting
    const env = workerEnv(serverEnv, this.#project.env, { socketPath: socket.path, workerId: this.#workerId })
    const { commandLine, whenMissing } = this.#program()
    const [command, ...args] = commandLine
    const child = spawn(command, args, {
      cwd: this.#project.folder,
      env,
      stdio: ["ignore", "inherit", "inherit"],
      // A session of its own: a terminal's Ctrl-C reaches the server, which then lets runs finish.
      detached: true,
    })
    this.#setting.log.debug({ worker_id: this.#workerId, pid: child.pid }, "worker started")
    child.once("error", (error) => this.#exited(`it could not be started: ${error.message}${whenMissing}`))
    child.once("exit", (code, signal) => {
      const isMissing = code === notFoundCode && this.#connection === undefined
      this.#isSignalled = signal !== null
      this.#exited(`${exitReason(code, signal)}${isMissing ? whenMissing : ""}`)
    })
    if (child.pid !== undefined) {
      const onOver = (reason: string) => this.kill(reason)
      const { memoryMb: limitMb, memoryEveryMs: everyMs } = limits
      const isIdle = () => this.session?.runs.size === 0
      this.#stopWatchingMemory = watchMemory({ pid: child.pid, limitMb, everyMs, isIdle, onOver })
    }
    return child
  }

  /** What is started, and what to say when there is no such program. */
  #program(): { commandLine: readonly [string, ...string[]]; whenMissing: string } {
    const { mains, python, limits } = this.#setting
    const [path = ""] = Object.values(this.#project.graphs)
    if (languageOf(path) === "python") {
      const interpreter = pythonOf(this.#project.folder, python)
      const whenMissing = `: ${withoutPython(interpreter)}`
      return { commandLine: pythonCommand(interpreter, mains.python), whenMissing }
    }
    const nodeVersion = Number(process.versions.node.split(".")[0])
    const program = { execPath: process.execPath, nodeVersion, main: mains.javascript, memoryMb: limits.memoryMb }
    return { commandLine: workerCommand(program), whenMissing: "" }
  }

  #killAfter(ms: number, because: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.kill(because), ms)
  }

  #connected(connection: Connection): void {
    const { handlers, backlog, log, limits, loopback } = this.#setting
    const session = new Session({
      connection,
      handlers,
      backlog,
      log: log.child({ worker_id: this.#workerId }),
      callMs: limits.callMs,
      room: limits,
      onLoaded: (frame) => this.#loaded(frame),
      onRunLeft: () => this.#listener.onRunLeft(),
      onPong: (nonce) => this.#heartbeat?.pong(nonce),
      onRoom: () => this.#listener.onRoom(),
    })
    this.#connection = connection
    this.#session = session
    this.#isOpen = true
    connection.handTo({
      onFrame: (frame, payload) => session.onFrame(frame, payload),
      onClose: (reason) => this.#closed(reason),
    })
    session.load(this.#project, loopback)
  }

  #loaded(frame: LoadedFrame): void {
    clearTimeout(this.#timer)
    this.#isLoaded = true
    // Not before: what a graph does while it is imported has a limit of its own.
    const { pingEveryMs, stalledMs } = this.#setting.limits
    this.#heartbeat = startHeartbeat({
      everyMs: pingEveryMs,
      limitMs: stalledMs,
      ping: (nonce) => this.#session?.ping(nonce),
      isHeard: () => this.#session?.isHeard ?? false,
      onAnswering: () => this.#listener.onRoom(),
      onStalled: () => this.kill(`its event loop was held for ${stalledMs / 1000} s`),
    })
    this.#listener.onLoaded(frame)
  }

  #closed(reason: string | undefined): void {
    this.#isOpen = false
    if (this.#exit !== undefined) this.#end()
    else if (reason !== undefined) this.kill(reason)
    else this.#killAfter(settleMs, "it closed its connection")
  }

  #exited(exit: string): void {
    if (this.#exit !== undefined) return
    this.#exit = exit
    clearTimeout(this.#timer)
    this.#stopWatchingMemory()
    if (this.#process.pid !== undefined) killGroup(this.#process.pid)
    if (this.#isOpen) this.#timer = setTimeout(() => this.#connection?.close("its process has ended"), settleMs)
    else this.#end()
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#heartbeat?.stop()
    this.#stopExpecting()
    const detail = this.#killedBecause === undefined ? `${this.#exit}` : `${this.#exit}: ${this.#killedBecause}`
    const wasBusy = this.#session?.isBusy ?? false
    this.#session?.end(this.#isStopping, detail)
    const isKilledByOthers = this.#isSignalled && this.#killedBecause === undefined
    this.#listener.onEnded(detail, { isStopped: this.#isStopping, isKilledByOthers, wasBusy })
  }
}
