/**
 * The gate: a separate process of the worker program, in which a project's auth module and HTTP app run. It executes no runs,
 * so a graph that keeps the processor busy does not delay authentication. It owns its process and its socket; the rules
 * (T1 …) are in this folder's README. `stop` ends everything it started.
 */
import type { Denial, Loopback } from "@superstep/protocol/worker/frames"
import { Denied, KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import { restoreExact } from "@superstep/toolkit/http/exact-number"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import type { User } from "../auth/caller.js"
import type { RuleAnswer, RuleQuestion, Rules } from "../auth/rule-caller.js"
import { UserCache, type UserCacheSettings } from "../auth/user-cache.js"
import type { Limits } from "../workers/child.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { defaultLimits, pythonMain, workerMain } from "../workers/pool.js"
import type { GraphFailure, Reply } from "../workers/port.js"
import { processTitle } from "../workers/process-title.js"
import type { ProjectCrashes } from "../workers/project-crashes.js"
import type { Session } from "../workers/session.js"
import { Worker } from "../workers/worker.js"
import { openWorkerSocket, type WorkerSocket } from "../workers/worker-socket.js"

/** The part of a project that the gate needs. */
export interface GateProject {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** `path:export` in langgraph.json; undefined when the project has none. */
  readonly auth: string | undefined
  readonly app: string | undefined
  readonly cache: UserCacheSettings | undefined
  readonly disableStudioAuth: boolean
  /** Whether a request is authenticated before the app gets it (README, T5). */
  readonly authFirst: boolean
}

export interface GateOptions {
  /** The server's name, for the title of the process. */
  readonly name?: string
  readonly log: Log
  readonly serverEnv: NodeJS.ProcessEnv
  readonly limits?: Partial<Limits>
  /** The Python program for projects without a `.venv`; by default `python3`. */
  readonly python?: string
  /** Counts the crashes that the project caused. */
  readonly crashes: ProjectCrashes
  /** How user code, and requests that the app passes on, reach this server. */
  readonly loopback: Loopback
}

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/** The project's own code did not load; the server's log has the reason. */
export class GateFailed extends KnownError {
  readonly code = "project_code_failed"
}

/** The process for one load of the project. */
interface Post {
  readonly project: GateProject
  readonly worker: Worker
  readonly users: UserCache | undefined
  /** How many requests and calls are in progress. */
  open: number
}

export class Gate implements Rules {
  readonly #options: GateOptions
  readonly #posts = new Set<Post>()
  readonly #ending = new Set<Promise<void>>()
  #socket: WorkerSocket | undefined
  #current: Post | undefined
  #started = 0
  #isInPlace = false

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** The project that is being served; undefined when it has neither auth module nor app, or is not loaded yet. */
  get project(): GateProject | undefined {
    return this.#current?.project
  }

  /** Whether the project has access rules. @throws Unavailable  no project is loaded yet, so this is unknown (T2) */
  get hasRules(): boolean {
    if (!this.#isInPlace) throw new Unavailable("the project is being loaded: try again in a moment")
    return this.#current?.project.auth !== undefined
  }

  /** Why the auth module or the app failed to load; empty when they loaded, or the project has none. */
  failures(): readonly GraphFailure[] {
    return this.#current?.worker.report.failed ?? []
  }

  /**
   * Loads the project's auth module and app while the old ones still serve, then replaces these. Code that fails to load
   * never replaces working code (T4).
   * @returns why code failed to load; empty on success
   */
  async replace(project: GateProject): Promise<readonly GraphFailure[]> {
    const next = project.auth === undefined && project.app === undefined ? undefined : await this.#begin(project)
    await next?.worker.firstReport
    const failed = next?.worker.report.failed ?? []
    const last = this.#current
    if (next && failed.length > 0 && last && last.worker.report.failed.length === 0) {
      this.#retire(next)
      return failed
    }
    this.#current = next
    this.#isInPlace = true
    if (last) this.#retire(last)
    return failed
  }

  /** @throws GateFailed  the handlers are unknown: an event must not pass because its handler is unknown (T2) */
  handlers(): readonly string[] {
    const auth = this.#current?.worker.loaded?.auth
    if (auth === undefined) throw new GateFailed("the project's auth.path does not load: see the server's log")
    return auth.handlers
  }

  /** @throws Denied  with the module's message; Unavailable while the gate's process is not ready */
  async authenticate({ method, url, headers }: RequestHead): Promise<User> {
    const users = this.#current?.users
    const known = users?.get(headers)
    if (known) return known
    const request = toJsonText({ method, url, headers: [...headers] })
    const { payload } = await this.#ask("auth.authenticate", {}, { request })
    const user = parseLine(payload[0]) as User
    users?.set(headers, user)
    return user
  }

  async authorize({ event, handler, value, user }: RuleQuestion): Promise<RuleAnswer> {
    const lines = { value: toJsonText(value), user: toJsonText(user) }
    const { payload } = await this.#ask("auth.authorize", { event, handler }, lines)
    return { value: restoreExact(value, parseLine(payload[0])), filter: parseLine(payload[1]) }
  }

  /**
   * Passes a request to the app.
   * @param work  gets the path of the socket on which the app listens
   * @param done  resolves when the request is completely over
   */
  async withApp<Result>(work: (socketPath: string) => Promise<Result>, done: Promise<void>): Promise<Result> {
    const { post } = this.#serving()
    const path = post.worker.loaded?.app?.socket_path
    if (path === undefined) throw new GateFailed("the project's http.app does not load: see the server's log")
    post.open += 1
    void done.then(() => this.#left(post))
    return await work(path)
  }

  async stop(): Promise<void> {
    this.#isInPlace = false
    this.#current = undefined
    await Promise.all([...this.#ending, ...[...this.#posts].map(({ worker }) => worker.stop())])
    await this.#socket?.close()
  }

  async #begin(project: GateProject): Promise<Post> {
    const { name, log, serverEnv, limits, python = "python3", crashes, loopback } = this.#options
    this.#socket ??= await openWorkerSocket(log)
    this.#started += 1
    const setting = {
      socket: this.#socket,
      title: processTitle(name, "gate"),
      // The gate executes no runs, so it needs nothing from the database.
      handlers: {},
      backlog: () => undefined,
      log,
      serverEnv,
      mains: { javascript: workerMain(), python: pythonMain },
      python,
      limits: { ...defaultLimits, ...limits },
      loopback,
    }
    const { folder, env, auth, app, cache } = project
    const worker: Worker = new Worker({
      name: `gate.${this.#started}`,
      project: { folder, env, auth, app, graphs: {} },
      setting,
      crashes,
      hasOtherWork: () => post.open > 0,
      mayRestart: () => this.#current === undefined || this.#current.worker === worker,
      onServing: () => undefined,
      onRunLeft: () => undefined,
      onRoom: () => undefined,
      onOverload: () => undefined,
      onDied: () => undefined,
    })
    const post: Post = { project, worker, users: cache && new UserCache(cache), open: 0 }
    this.#posts.add(post)
    return post
  }

  async #ask(
    method: string,
    fields: Readonly<Record<string, unknown>>,
    payload: Readonly<Record<string, string>>,
  ): Promise<Reply> {
    const { post, session } = this.#serving()
    if (post.worker.loaded?.auth === undefined) {
      throw new GateFailed("the project's auth.path does not load: see the server's log")
    }
    post.open += 1
    try {
      const reply = await session.call(method, fields, payload)
      refuse(reply.fields.denial as Denial | undefined)
      return reply
    } catch (error) {
      // The module's error is for its author only: the caller gets 500, and the error is logged.
      if (error instanceof WorkerCallFailed) throw new Error("the auth module failed", { cause: error })
      throw error
    } finally {
      this.#left(post)
    }
  }

  #serving(): { post: Post; session: Session } {
    const post = this.#current
    const session = post?.worker.session
    if (post && session) return { post, session }
    throw new Unavailable("the project's own code is starting: try again in a moment")
  }

  #retire(post: Post): void {
    if (post.open > 0 || !this.#posts.delete(post)) return
    const ending = post.worker.stop().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  #left(post: Post): void {
    post.open -= 1
    if (post !== this.#current) this.#retire(post)
  }
}

const parseLine = (line: Buffer | undefined): unknown =>
  line === undefined || line.length === 0 ? undefined : parseJson(line.toString("utf8"))

/** @throws Denied  with the status, message and headers that the module raised */
function refuse(denial: Denial | undefined): void {
  if (denial === undefined) return
  const { status, message, headers } = denial
  // A 304 response has no body for the reason.
  if (status < 300 || status > 599 || status === 304) {
    throw new Error(`the auth module raised an HTTPException with status ${status}, which refuses nothing`)
  }
  throw new Denied(message, { status, headers })
}
