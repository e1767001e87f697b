/**
 * A project's auth module and HTTP app, which are in front of its server. They are loaded in a worker that executes no runs, so
 * that no graph delays them.
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
import { errorText } from "../errors/describe-error.js"
import type { Spec } from "../loading/graph-spec.js"
import { graphError, importExport } from "../loading/loader.js"
import { type AuthModule, authModule } from "./auth-module.js"

type Told = Pick<LoadedFrame, "auth" | "auth_error" | "app" | "app_error">

export class Gate {
  readonly #socketPath: string
  #auth: AuthModule | undefined

  /** @param workerSocket  the app's own socket is created in the same folder */
  constructor({ workerSocket, workerId }: { workerSocket: string; workerId: string }) {
    this.#socketPath = join(dirname(workerSocket), `${workerId}.sock`)
  }

  /** Loads the module and the app; a failure of one does not affect the other. @returns their fields of `loaded` */
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
      // The log shows the module's author where the error was thrown; the server's caller does not see it.
      process.stderr.write(`${errorText(error)}\n`)
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
    if (loopback === undefined) throw new Error("the `load` frame has no loopback socket")
    // Imported only here: workers of graphs should not keep an HTTP server in memory.
    const { listenForApp, projectApp } = await import("./project-app.js")
    const { exported } = await importExport(root, parse(spec))
    await listenForApp(projectApp(exported, spec), this.#socketPath, loopback)
    return { socket_path: this.#socketPath }
  }
}

type PayloadName = "user" | "value" | "filter"

/** One line for each value; an empty line for undefined. */
function reply(values: Partial<Record<PayloadName, unknown>>) {
  const names = Object.keys(values) as PayloadName[]
  return { fields: { payload: names }, lines: names.map((name) => JSON.stringify(values[name]) ?? "") }
}

/** Parses `path:export`; without an export it is the default export. */
function parse(spec: string): Spec {
  const [, path = spec, name = "default"] = /^(.+):([^:/\\]+)$/.exec(spec) ?? []
  return { path, name }
}
