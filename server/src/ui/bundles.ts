/** The files of a project's UI components, built by a child process and kept in memory (U1–U3). */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import type { Log } from "@superstep/toolkit/log/log"

/** The input of a build. */
export interface UiProject {
  /** Absolute path. */
  readonly folder: string
  /** Source file by agent, as in langgraph.json. */
  readonly ui: Readonly<Record<string, string>>
  /** Modules that the page provides, besides React and the SDK. */
  readonly shared: readonly string[]
  /** The complete environment of the build process. */
  readonly env: Readonly<Record<string, string>>
}

/** File contents by base name, such as `entrypoint.js`. */
export type Bundle = ReadonlyMap<string, Buffer>

// Tailwind scans the whole project, which can take long on a busy machine.
const timeoutMs = 120_000

// A failed build succeeds only after a change of the sources.
const retryAfterMs = 60_000

const builder = fileURLToPath(import.meta.resolve("@superstep/worker-js/build-ui"))

export class UiBundles {
  readonly #log: Log
  #building = new AbortController()
  #bundles: Promise<ReadonlyMap<string, Bundle>> = Promise.resolve(new Map())

  constructor(log: Log) {
    this.#log = log
  }

  /** Starts a build, for which requests wait. It cancels the previous build and discards its bundles. */
  build(project: UiProject): void {
    this.stop()
    this.#building = new AbortController()
    const { signal } = this.#building
    if (Object.keys(project.ui).length === 0) {
      this.#bundles = Promise.resolve(new Map())
      return
    }
    this.#bundles = buildAll(project, signal)
    this.#bundles.then(
      (bundles) => this.#log.info({ agents: [...bundles.keys()] }, "UI components were built"),
      (err: unknown) => {
        if (!signal.aborted) this.#log.error({ err }, "UI components could not be built")
      },
    )
  }

  /** Cancels a running build. Finished bundles are still served. */
  stop(): void {
    this.#building.abort()
  }

  /**
   * @returns the files of an agent, or undefined when it has no components
   * @throws Unavailable  the build failed
   */
  async of(agent: string): Promise<Bundle | undefined> {
    try {
      return (await this.#bundles).get(agent)
    } catch (cause) {
      // The output of the build has lines of the source, which are not for callers.
      throw new Unavailable("the UI components could not be built: see the server's log", retryAfterMs, { cause })
    }
  }
}

async function buildAll(
  { folder, ui, shared, env }: UiProject,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Bundle>> {
  const output = await mkdtemp(join(tmpdir(), "superstep-ui-"))
  try {
    const order = JSON.stringify({ cwd: folder, defs: ui, config: { shared }, output })
    await runCommand({ argv: [process.execPath, builder, order], cwd: folder, env, timeoutMs, signal })
    const agents = Object.keys(ui).map(
      async (agent) => [agent, await readBundle(join(output, "public", agent))] as const,
    )
    return new Map(await Promise.all(agents))
  } finally {
    await rm(output, { recursive: true, force: true })
  }
}

async function readBundle(folder: string): Promise<Bundle> {
  const names = await readdir(folder)
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
}
