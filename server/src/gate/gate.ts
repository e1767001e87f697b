/**
 * The gate: one more process of the worker program, in which a project's auth module and HTTP app run. It executes no runs,
 * so a graph that burns the processor delays nobody's authentication. It owns its process and its socket; the rules (T1 …)
 * are in this folder's README. `stop` ends everything it started.
 */
import type { Denial, Loopback } from "@superstep/protocol/worker/frames"
import { Denied, KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { Log } from "@superstep/toolkit/log/log"
import type { User } from "../auth/caller.js"
import type { RuleAnswer, RuleQuestion, Rules } from "../auth/rule-caller.js"
import { UserCache, type UserCacheSettings } from "../auth/user-cache.js"
import type { Limits } from "../workers/child.js"
import { WorkerCallFailed } from "../workers/pending-calls.js"
import { pythonMain, usualLimits, workerMain } from "../workers/pool.js"
import type { GraphFailure, Reply } from "../workers/port.js"
import type { ProjectCrashes } from "../workers/project-crashes.js"
import type { Session } from "../workers/session.js"
import { Worker } from "../workers/worker.js"
import { openWorkerSocket, type WorkerSocket } from "../workers/worker-socket.js"

/** What of a project is the gate's. */
export interface GateProject {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** `path:export` in langgraph.json; undefined where the project has none. */
  readonly auth: string | undefined
  readonly app: string | undefined
  readonly cache: UserCacheSettings | undefined
  readonly disableStudioAuth: boolean
  /** Whether everybody must be known before the app sees the request (README, T5). */
  readonly authFirst: boolean
}

export interface GateOptions {
  readonly log: Log
  readonly serverEnv: NodeJS.ProcessEnv
  readonly limits?: Partial<Limits>
  /** Hears of the crashes that count against the project. */
  readonly crashes: ProjectCrashes
  /** How user code, and what the app leaves to the server, reaches this server. */
  readonly loopback: Loopback
}

/** A request without its body. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: Headers
}

/** The project's own code is not there to answer; its log says why. */
export class GateFailed extends KnownError {
  readonly code = "project_code_failed"
}

/** The process of one loading of the project. */
interface Post {
  readonly project: GateProject
  readonly worker: Worker
  readonly users: UserCache | undefined
  /** Requests and questions under way. */
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

  /** What the project that serves says; undefined where it has neither auth module nor app, or is not known yet. */
  get project(): GateProject | undefined {
    return this.#current?.project
  }

  /** Whether the project's rules are to be asked. @throws Unavailable  no project is in place, so nobody can tell (T2) */
  get hasRules(): boolean {
    if (!this.#isInPlace) throw new Unavailable("the project is being loaded: try again in a moment")
    return this.#current?.project.auth !== undefined
  }

  /** Why the auth module or the app cannot serve; empty where they can, or there are none. */
  failures(): readonly GraphFailure[] {
    return this.#current?.worker.report.failed ?? []
  }

  /**
   * Loads the project's auth module and app, beside those that serve, and puts them in their place. What cannot be loaded
   * replaces nothing that can (T4).
   * @returns why something did not load
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

  /** @throws GateFailed  they are not known: no event may pass because its handler is unknown (T2) */
  handlers(): readonly string[] {
    const auth = this.#current?.worker.loaded?.auth
    if (auth === undefined) throw new GateFailed("the project's auth.path does not load: see the server's log")
    return auth.handlers
  }

  /** @throws Denied  in the module's words; Unavailable while its process is not up */
  async authenticate({ method, url, headers }: RequestHead): Promise<User> {
    const users = this.#current?.users
    const known = users?.get(headers)
    if (known) return known
    const request = JSON.stringify({ method, url, headers: [...headers] })
    const { payload } = await this.#ask("auth.authenticate", {}, { request })
    const user = parseLine(payload[0]) as User
    users?.set(headers, user)
    return user
  }

  async authorize({ event, handler, value, user }: RuleQuestion): Promise<RuleAnswer> {
    const lines = { value: toJsonText(value), user: JSON.stringify(user) }
    const { payload } = await this.#ask("auth.authorize", { event, handler }, lines)
    return { value: parseLine(payload[0]), filter: parseLine(payload[1]) }
  }

  /**
   * Gives a request to the app.
   * @param work  is told the socket at which the app listens
   * @param done  resolves when nothing more of the request is under way
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
    const { log, serverEnv, limits, crashes, loopback } = this.#options
    this.#socket ??= await openWorkerSocket(log)
    this.#started += 1
    const setting = {
      socket: this.#socket,
      // It executes no runs, so it has nothing to ask of the database.
      handlers: {},
      backlog: () => undefined,
      log,
      serverEnv,
      mains: { javascript: workerMain(), python: pythonMain },
      python: "python3",
      limits: { ...usualLimits, ...limits },
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
      // What the module threw is its author's affair and nobody else's: 500, and the log.
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
    throw new Unavailable("the project's own code is being started: try again in a moment")
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
  line === undefined || line.length === 0 ? undefined : JSON.parse(line.toString("utf8"))

/** @throws Denied  with what the module raised */
function refuse(denial: Denial | undefined): void {
  if (denial === undefined) return
  const { status, message, headers } = denial
  // 304 has no body to say why.
  if (status < 300 || status > 599 || status === 304) {
    throw new Error(`the auth module raised an HTTPException with status ${status}, which refuses nothing`)
  }
  throw new Denied(message, { status, headers })
}
