/**
 * One process of a worker, from its start to its end. It owns the process, its connection and its heartbeat.
 * P2: the end is reported once, when the process has exited and everything it had written was read, so a `done` that was
 * sent just before an exit counts. P3: a process without its connection is killed, and so is one that takes too long to stop.
 * P15: processes that it started end with it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import type { LoadedFrame, Loopback } from "@superstep/protocol/worker/frames"
import type { Log } from "@superstep/toolkit/log/log"
import type { CallHandlers } from "./calls.js"
import type { Connection } from "./connection.js"
import { exitReason } from "./exit-reason.js"
import { type Heartbeat, startHeartbeat } from "./heartbeat.js"
import { type Language, languageOfWorker, pythonOf, withoutPython } from "./languages.js"
import { watchMemory } from "./memory-watch.js"
import { killGroup } from "./process-group.js"
import { Session } from "./session.js"
import { pythonCommand, workerCommand } from "./worker-command.js"
import { workerEnv } from "./worker-env.js"
import type { WorkerSocket } from "./worker-socket.js"

/** What a worker loads; all its graphs are in one language. */
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

/** Settings shared by all processes of a pool. */
export interface ChildSetting {
  readonly socket: WorkerSocket
  /** The title of the processes in the process table; each adds its own name. */
  readonly title: string
  readonly handlers: CallHandlers
  /** A promise to wait for before reading more from a worker that has called; undefined while there is room. */
  readonly backlog: () => Promise<void> | undefined
  readonly log: Log
  /** This process's environment; `worker-env.ts` lists the few variables that are passed on. */
  readonly serverEnv: NodeJS.ProcessEnv
  /** The file that each language's program runs. */
  readonly mains: Readonly<Record<Language, string>>
  /** How user code reaches this server; undefined when it cannot. */
  readonly loopback?: Loopback | undefined
  /** The Python program for projects without their own. */
  readonly python: string
  readonly limits: Limits
}

export interface Limits {
  /** The maximum of concurrent runs of a worker. */
  readonly maxRuns: number
  /** How long loading the graphs may take, in milliseconds. */
  readonly loadMs: number
  /** How often a worker is pinged, and how long pings may stay unanswered, in milliseconds. */
  readonly pingEveryMs: number
  readonly stalledMs: number
  /** A worker's memory limit in megabytes, 0 for no limit; and how often to check it, in milliseconds. */
  readonly memoryMb: number
  readonly memoryEveryMs: number
  /** How long a worker may take to exit after `stop`, in milliseconds. */
  readonly stopMs: number
  /** How long a worker may take to answer a call, in milliseconds. */
  readonly callMs: number
  /** How long a run without a worker waits for one, in milliseconds. */
  readonly holdMs: number
  /** How long a worker must compute without a pause before another one is started, in milliseconds. */
  readonly overloadMs: number
  /** How long a run that executes alone must survive before the next one may start in its place, in milliseconds. */
  readonly provenMs: number
}

export interface ChildEnd {
  /** Whether `stop` was called. */
  readonly isStopped: boolean
  readonly isKilledByOthers: boolean
  /** Whether it was executing a run or a call. */
  readonly wasBusy: boolean
}

export interface ChildListener {
  onLoaded(frame: LoadedFrame): void
  onRunLeft(): void
  /** Called when the worker takes new runs again. */
  onRoom(): void
  /** Called when the worker is overloaded (`worker-load.ts`), repeatedly while that lasts. */
  onOverload(): void
  /** @param detail  such as `exit code 1`, `signal SIGKILL` or why this server ended it */
  onEnded(detail: string, end: ChildEnd): void
}

// When a process ends, the close of its socket and its exit are seen here within moments of each other. If not, another
// process holds the socket, or the worker goes on without it.
const settleMs = 1000

const notLoaded = (ms: number) =>
  `it did not load its graphs within ${ms / 1000} s: something in them, such as a top-level await, takes longer or never ends`

// The exit code with which `setpriv`, like a shell, reports a missing program.
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
  #isBlocked = false
  /** Whether a signal ended it; not every signal comes from this server. */
  #isSignalled = false

  constructor(workerId: string, project: WorkerProject, setting: ChildSetting, listener: ChildListener) {
    this.#workerId = workerId
    this.#project = project
    this.#setting = setting
    this.#listener = listener
    this.#stopExpecting = setting.socket.expect(workerId, (connection) => this.#connected(connection))
    this.#process = this.#spawn()
    this.#killAfter(setting.limits.loadMs, notLoaded(setting.limits.loadMs))
  }

  /** The session, from the moment the worker has loaded until it ends. */
  get session(): Session | undefined {
    return this.#isLoaded && this.#isOpen ? this.#session : undefined
  }

  /** Whether its event loop runs; true until a ping stays unanswered. */
  get isAnswering(): boolean {
    return this.#heartbeat?.isAnswering ?? true
  }

  /** Asks the worker to exit, and kills it when it does not. `onEnded` reports the end. */
  stop(): void {
    this.#isStopping = true
    // The process has exited; `onEnded` will be called soon.
    if (this.#exit !== undefined) return
    this.#session?.stop()
    if (this.#session === undefined) this.kill("it was stopped")
    else this.#killAfter(this.#setting.limits.stopMs, "it was stopped")
  }

  /** Kills the process and every process it started. */
  kill(because: string): void {
    this.#killedBecause ??= because
    if (this.#exit === undefined && this.#process.pid !== undefined) killGroup(this.#process.pid)
  }

  #spawn(): ChildProcess {
    const { serverEnv, socket, limits, title } = this.#setting
    const address = { socketPath: socket.path, workerId: this.#workerId }
    const env = workerEnv(serverEnv, this.#project.env, { ...address, title: `${title} ${this.#workerId}` })
    const { commandLine, whenMissing } = this.#program()
    const [command, ...args] = commandLine
    const child = spawn(command, args, {
      cwd: this.#project.folder,
      env,
      stdio: ["ignore", "inherit", "inherit"],
      // Its own process session: a terminal's Ctrl-C reaches only the server, which then lets runs finish.
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

  /** The command line, and the message for a missing program. */
  #program(): { commandLine: readonly [string, ...string[]]; whenMissing: string } {
    const { mains, python, limits } = this.#setting
    if (languageOfWorker(this.#project) === "python") {
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
      language: languageOfWorker(this.#project),
      backlog,
      log: log.child({ worker_id: this.#workerId }),
      callMs: limits.callMs,
      room: limits,
      overloadMs: limits.overloadMs,
      onLoaded: (frame) => this.#loaded(frame),
      onRunLeft: () => this.#listener.onRunLeft(),
      onPong: (nonce) => this.#heartbeat?.pong(nonce),
      onRoom: () => this.#listener.onRoom(),
      onOverload: () => this.#listener.onOverload(),
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
    // Started only after loading, which has its own time limit.
    const { pingEveryMs, stalledMs } = this.#setting.limits
    this.#heartbeat = startHeartbeat({
      everyMs: pingEveryMs,
      limitMs: stalledMs,
      ping: (nonce) => this.#session?.ping(nonce),
      isHeard: () => this.#session?.isHeard ?? false,
      onAnswering: () => this.#listener.onRoom(),
      onSilent: () => this.#listener.onOverload(),
      onStalled: () => {
        this.#isBlocked = true
        this.kill(`its event loop was held for ${stalledMs / 1000} s`)
      },
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
    this.#session?.end({ isStopped: this.#isStopping, isBlocked: this.#isBlocked }, detail)
    const isKilledByOthers = this.#isSignalled && this.#killedBecause === undefined
    this.#listener.onEnded(detail, { isStopped: this.#isStopping, isKilledByOthers, wasBusy })
  }
}
