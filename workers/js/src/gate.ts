/**
 * What a project puts in front of its server: its auth module and its HTTP app. They are loaded in a worker that executes no
 * runs, so that no graph delays them.
 */
import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import type {
  AuthenticateCall,
  AuthorizeCall,
  LoadedFrame,
  LoadFrame,
  Loopback,
} from "@superstep/protocol/worker/frames"
import { type AuthModule, authModule } from "./auth-module.js"
import type { Spec } from "./graph-spec.js"
import { graphError, importExport } from "./loader.js"

type Told = Pick<LoadedFrame, "auth" | "auth_error" | "app" | "app_error">

export class Gate {
  readonly #socketPath: string
  #auth: AuthModule | undefined

  /** @param workerSocket  the app's own socket is made beside it */
  constructor({ workerSocket, workerId }: { workerSocket: string; workerId: string }) {
    this.#socketPath = join(dirname(workerSocket), `${workerId}.sock`)
  }

  /** Loads what the frame names; one that fails does not keep the other from loading. @returns what `loaded` says of it */
  async load({ project, auth, app, loopback }: LoadFrame): Promise<Told> {
    const root = realpathSync(project)
    const told: { -readonly [Key in keyof Told]: Told[Key] } = {}
    try {
      if (auth !== undefined) told.auth = await this.#loadAuth(root, auth)
    } catch (error) {
      told.auth_error = graphError(error, root)
    }
    try {
      if (app !== undefined) told.app = await this.#loadApp(root, app, loopback)
    } catch (error) {
      told.app_error = graphError(error, root)
    }
    return told
  }

  /** @returns  header fields and payload lines of the reply */
  async answer(call: AuthenticateCall | AuthorizeCall, payload: readonly Buffer[]) {
    try {
      return await this.#answer(call, payload)
    } catch (error) {
      // Its author sees where it was thrown; the caller of the server sees nothing of it.
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
      throw error
    }
  }

  async #answer(call: AuthenticateCall | AuthorizeCall, payload: readonly Buffer[]) {
    if (this.#auth === undefined) throw new Error("no auth module is loaded")
    const [first, second] = payload.map((line) => JSON.parse(line.toString("utf8")))
    if (call.method === "auth.authenticate") {
      const answer = await this.#auth.authenticate(first)
      return "denial" in answer ? { fields: answer, lines: [] } : reply({ user: answer.user })
    }
    const { event, handler } = call
    const verdict = await this.#auth.authorize({ event, handler, value: first, user: second })
    return "denial" in verdict
      ? { fields: verdict, lines: [] }
      : reply({ value: verdict.value, filter: verdict.filter })
  }

  async #loadAuth(root: string, spec: string) {
    const { exported } = await importExport(root, parse(spec))
    this.#auth = authModule(exported, spec)
    return { handlers: this.#auth.handlers }
  }

  async #loadApp(root: string, spec: string, loopback: Loopback | undefined) {
    if (loopback === undefined) throw new Error("the server named no socket of its own")
    // Only here, since an HTTP server is nothing that the workers of graphs should hold in memory.
    const { listenForApp, projectApp } = await import("./project-app.js")
    const { exported } = await importExport(root, parse(spec))
    await listenForApp(projectApp(exported, spec), this.#socketPath, loopback)
    return { socket_path: this.#socketPath }
  }
}

type PayloadName = "user" | "value" | "filter"

/** One line each; what is undefined is an empty one. */
function reply(values: Partial<Record<PayloadName, unknown>>) {
  const names = Object.keys(values) as PayloadName[]
  return { fields: { payload: names }, lines: names.map((name) => JSON.stringify(values[name]) ?? "") }
}

/** `path:export`; without an export it is the default one. */
function parse(spec: string): Spec {
  const [, path = spec, name = "default"] = /^(.+):([^:/\\]+)$/.exec(spec) ?? []
  if (path.endsWith(".py"))
    throw new Error(`${path} is Python, which is not supported here yet: write it in TypeScript`)
  return { path, name }
}
