/**
 * The server's side of the worker protocol, in a minimal form: a socket, checkpoints and store items in memory.
 * It starts the real worker as a child process.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import type {
  LoadedFrame,
  LoadReportFrame,
  ReplyFrame,
  RunFrame,
  WorkerCall,
  WorkerFrame,
} from "@superstep/protocol/worker/frames"
import { problemOf } from "@superstep/protocol/worker/validate"
import { workerCalls, workerFrames } from "@superstep/protocol/worker/validators"
import { parseHeader } from "../connection/connection.js"
import { FrameWriter } from "../connection/frame-writer.js"
import { MemoryCheckpoints, MemoryStore } from "./memory-server.js"

/** A frame as a test sees it: the header and its payload lines by name (a repeated name keeps the last). */
export interface Received {
  readonly header: WorkerFrame
  readonly payload: Readonly<Record<string, string>>
  readonly lines: readonly string[]
}

/** Any header: tests also send invalid ones. */
interface Header {
  readonly type: string
  readonly payload?: readonly string[]
  readonly [field: string]: unknown
}

export interface RunOptions extends Partial<Omit<RunFrame, "type" | "payload">> {
  readonly input?: unknown
  readonly command?: unknown
  readonly config?: unknown
  readonly context?: unknown
}

/** The result of a run: its events in order and the `done` frame. */
export interface RunRecord {
  readonly events: { readonly event: string; readonly data: unknown }[]
  readonly status: string
  readonly error: { readonly error: string; readonly message: string } | undefined
  readonly next: readonly string[] | undefined
  readonly values: unknown
  readonly interrupts: unknown
}

interface Parts {
  readonly folder: string
  readonly server: Server
  readonly child: ChildProcess
  readonly socket: Socket
  readonly answers: boolean
}

export class FakeServer implements AsyncDisposable {
  readonly checkpoints = new MemoryCheckpoints()
  readonly store = new MemoryStore()
  /** All received frames in order, except load reports, whose times vary. */
  readonly received: Received[] = []
  readonly loadReports: LoadReportFrame[] = []
  /** Called before a call is answered: returns a failure to send, or undefined to answer as usual. */
  refuse: (call: WorkerCall) => { error: string; message: string } | undefined = () => undefined
  /** Called before a call is answered: the answer waits for the promise. */
  withhold: (call: WorkerCall) => Promise<void> | undefined = () => undefined
  readonly child: ChildProcess
  readonly #folder: string
  readonly #server: Server
  readonly #writer: FrameWriter
  readonly #socket: Socket
  readonly #answers: boolean
  /** Waiters for the next frame or line: notified when one arrives, or when the process exits. */
  #watchers: { onFrame(): void; onExit(): void }[] = []
  #output = ""
  #errors = ""
  #lastCall = 0

  private constructor({ folder, server, child, socket, answers }: Parts) {
    this.#folder = folder
    this.#server = server
    this.child = child
    this.#socket = socket
    this.#answers = answers
    this.#writer = new FrameWriter(socket)
    const reader = new FrameReader(parseHeader, (header, payload) => this.#receive(header, payload))
    socket.on("data", (chunk) => reader.push(chunk))
    // Some tests kill the worker.
    socket.on("error", () => {})
    child.stdout?.on("data", (chunk) => {
      this.#output += String(chunk)
      for (const { onFrame } of this.#takeWatchers()) onFrame()
    })
    child.stderr?.on("data", (chunk) => {
      this.#errors += String(chunk)
    })
    child.once("exit", () => {
      for (const { onExit } of this.#takeWatchers()) onExit()
    })
  }

  /**
   * @param main         the worker's entry
   * @param answers      false: calls are left to the test
   * @param interpreter  the program that runs the entry
   */
  static async start(main: string, { answers = true, interpreter = process.execPath } = {}): Promise<FakeServer> {
    const folder = mkdtempSync(join(tmpdir(), "worker-"))
    const path = join(folder, "s")
    const server = createServer()
    server.listen(path)
    await once(server, "listening")
    const env = { ...process.env, SUPERSTEP_WORKER_SOCKET: path, SUPERSTEP_WORKER_ID: "w1", LANGSMITH_TRACING: "false" }
    const child = spawn(interpreter, [main], { env, stdio: ["ignore", "pipe", "pipe"] })
    const [socket] = await once(server, "connection")
    return new FakeServer({ folder, server, child, socket, answers })
  }

  /** What the worker has written to standard output, once it has the given number of lines. */
  async output(lines: number): Promise<string[]> {
    for (;;) {
      const found = this.#output.split("\n").slice(0, -1)
      if (found.length >= lines) return found
      await this.#nextFrame()
    }
  }

  /** What the worker has written to standard error. */
  errors(): string {
    return this.#errors
  }

  send(header: Header, payload: readonly string[] = []): void {
    this.#writer.send(header, payload)
  }

  /** Stops reading, so that the worker's writes queue up. @returns a function that resumes reading */
  pause(): () => void {
    this.#socket.pause()
    return () => this.#socket.resume()
  }

  /** The first matching frame, already received or later. */
  async frame(fits: (frame: Received) => boolean): Promise<Received> {
    for (;;) {
      const found = this.received.find(fits)
      if (found !== undefined) return found
      await this.#nextFrame()
    }
  }

  /** The first `count` load reports, already received or later. */
  async reports(count: number): Promise<LoadReportFrame[]> {
    while (this.loadReports.length < count) await this.#nextFrame()
    return this.loadReports.slice(0, count)
  }

  async load(project: string, graphs: Readonly<Record<string, string>>): Promise<LoadedFrame> {
    await this.frame(({ header }) => header.type === "hello")
    this.send({ type: "load", project, graphs })
    const { header } = await this.frame((frame) => frame.header.type === "loaded")
    if (header.type !== "loaded") throw new Error("unreachable")
    return header
  }

  startRun(graphId: string, options: RunOptions = {}): RunFrame {
    const { input, command, config, context, ...frame } = options
    const thread_id = frame.thread_id ?? crypto.randomUUID()
    const { attempt = 1, run_id = "" } = frame
    const run: RunFrame = {
      type: "run",
      run_id: crypto.randomUUID(),
      claim_id: crypto.randomUUID(),
      thread_id,
      attempt: 1,
      graph_id: graphId,
      stream_modes: ["values"],
      stream_subgraphs: false,
      durability: "async",
      has_checkpoint: this.checkpoints.has(thread_id),
      ...(attempt > 1 ? this.checkpoints.savedOfCommand(thread_id, run_id) : {}),
      ...frame,
      payload: ["input", "command", "config", "context"],
    }
    const line = (value: unknown) => (value === undefined ? "" : JSON.stringify(value))
    this.send({ ...run }, [line(input), line(command), line(config), line(context)])
    return run
  }

  /** Sends a run and waits for its end. */
  async run(graphId: string, options: RunOptions = {}): Promise<RunRecord & { readonly frame: RunFrame }> {
    const frame = this.startRun(graphId, options)
    return { ...(await this.done(frame)), frame }
  }

  async done({ claim_id }: { readonly claim_id: string }): Promise<RunRecord> {
    const { header, payload } = await this.frame(
      (each) => each.header.type === "done" && each.header.claim_id === claim_id,
    )
    if (header.type !== "done") throw new Error("unreachable")
    const { status, error, next } = header
    const values = payload.values === "" ? undefined : JSON.parse(payload.values ?? "")
    return {
      events: this.events(claim_id),
      status,
      error,
      next,
      values,
      interrupts: JSON.parse(payload.interrupts ?? ""),
    }
  }

  events(claimId: string): { event: string; data: unknown }[] {
    return this.received.flatMap(({ header, payload }) =>
      header.type === "event" && header.claim_id === claimId
        ? [{ event: header.event, data: JSON.parse(payload.data ?? "") }]
        : [],
    )
  }

  /** Calls the worker. @returns the parsed payload line of its reply */
  async ask(fields: object): Promise<unknown> {
    const { lines } = await this.call(fields, { config: "" })
    return JSON.parse(lines[0] ?? "")
  }

  /** Calls the worker with the given payload lines. @returns the complete reply */
  async call(
    fields: object,
    payload: Readonly<Record<string, string>>,
  ): Promise<{ header: ReplyFrame; lines: readonly string[] }> {
    this.#lastCall += 1
    const call_id = `s${this.#lastCall}`
    this.send({ type: "call", call_id, ...fields, payload: Object.keys(payload) }, Object.values(payload))
    const { header, lines } = await this.frame(
      (each) => (each.header.type === "reply" || each.header.type === "failure") && each.header.call_id === call_id,
    )
    if (header.type === "failure") throw new Error(`${header.error.error}: ${header.error.message}`)
    if (header.type !== "reply") throw new Error(`expected a reply, got ${header.type}`)
    return { header, lines }
  }

  /** The worker's exit code. */
  async exit(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit")
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
    await this.exit()
    this.#server.close()
    rmSync(this.#folder, { recursive: true })
  }

  #nextFrame(): Promise<void> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`the worker ended: ${this.#errors}`))
      if (this.child.exitCode !== null || this.child.signalCode !== null) onExit()
      else this.#watchers.push({ onFrame: resolve, onExit })
    })
  }

  #takeWatchers() {
    const watchers = this.#watchers
    this.#watchers = []
    return watchers
  }

  #receive(header: Readonly<Record<string, unknown>>, payload: readonly Buffer[]): void {
    const wrong =
      problemOf(workerFrames, "type", header) ??
      (header.type === "call" ? problemOf(workerCalls, "method", header) : undefined)
    if (wrong !== undefined) throw new Error(`the worker sent a frame that the schema forbids: ${wrong}`)
    // The schema has just validated it.
    const frame = header as unknown as WorkerFrame
    const lines = payload.map((line) => line.toString("utf8"))
    const names = Array.isArray(header.payload) ? header.payload.map(String) : []
    if (frame.type === "load_report") this.loadReports.push(frame)
    else {
      const named = Object.fromEntries(names.map((name, i) => [name, lines[i] ?? ""]))
      this.received.push({ header: frame, lines, payload: named })
    }
    if (frame.type === "call" && this.#answers) {
      const call = frame as WorkerCall
      const withheld = this.withhold(call)
      if (withheld === undefined) this.#answer(call, lines)
      else void withheld.then(() => this.#answer(call, lines))
    }
    for (const { onFrame } of this.#takeWatchers()) onFrame()
  }

  #answer(call: WorkerCall, lines: readonly string[]): void {
    const { call_id } = call
    const refusal = this.refuse(call)
    if (refusal !== undefined) {
      this.send({ type: "failure", call_id, error: refusal })
      return
    }
    const { fields, payload } =
      call.method === "store.batch" ? this.store.answer(lines) : this.checkpoints.answer(call, lines)
    const names = payload.length === 0 ? {} : { payload: payload.map(([name]) => name) }
    this.send(
      { type: "reply", call_id, ...fields, ...names },
      payload.map(([, line]) => line),
    )
  }
}
