/** Starts the systems of a scenario. */
import { mkdtemp } from "node:fs/promises"
import { join } from "node:path"
import type { RunningPostgres } from "@superstep/toolkit/postgres/start-postgres"
import type { SystemName } from "../options.js"
import type { Cleanup } from "../processes.js"
import { startEdge } from "./edge.js"
import { floor } from "./floor.js"
import { installPeer, peer } from "./peer.js"
import { startProxy } from "./proxy.js"
import { python, pythonFloor } from "./python.js"
import { server, startDatabases, untraced } from "./server.js"
import { type Place, type System, startSystem } from "./system.js"

/** Those that a scenario is for. */
interface NamedSystems {
  readonly systems: readonly SystemName[]
}

export class Systems {
  readonly #names: readonly SystemName[]
  readonly #folder: string
  readonly #postgres: RunningPostgres | undefined
  readonly #cleanup: Cleanup

  private constructor(
    names: readonly SystemName[],
    folder: string,
    postgres: RunningPostgres | undefined,
    cleanup: Cleanup,
  ) {
    this.#names = names
    this.#folder = folder
    this.#postgres = postgres
    this.#cleanup = cleanup
  }

  /** Does the slow preparation: starts Postgres, and installs the peer's packages. */
  static async prepare(names: readonly SystemName[], folder: string, cleanup: Cleanup): Promise<Systems> {
    if (names.includes("peer")) await installPeer()
    const postgres = names.includes("server") ? await startDatabases(folder, cleanup) : undefined
    return new Systems(names, folder, postgres, cleanup)
  }

  /** Starts new processes for one scenario. The cleanup stops them. */
  async startAnew({ systems }: NamedSystems, cleanup: Cleanup): Promise<System[]> {
    return this.#startAll(systems, { folder: await mkdtemp(join(this.#folder, "scenario-")), cleanup }, [])
  }

  readonly #shared: System[] = []

  /** Starts what no earlier scenario has started. All of it runs until the end. */
  async startShared({ systems }: NamedSystems): Promise<System[]> {
    return this.#startAll(systems, { folder: this.#folder, cleanup: this.#cleanup }, this.#shared)
  }

  /** @param running  what is started is added to them */
  async #startAll(systems: readonly SystemName[], place: Place, running: System[]): Promise<System[]> {
    const names = this.#names.filter((name) => systems.includes(name))
    for (const name of names.filter((name) => !running.some((system) => system.name === name))) {
      const behind = running.find((system) => system.name === "server")
      running.push(await this.#start(name, place, behind))
    }
    return running.filter(({ name }) => names.includes(name))
  }

  /** @param behind  the system behind a proxy */
  async #start(name: SystemName, place: Place, behind: System | undefined): Promise<System> {
    if (name === "edge" && behind) return startEdge(place, behind)
    if (name === "proxy" && behind) return startProxy(place, behind)
    if (name === "peer") return startSystem(peer(place), place.cleanup)
    if (name === "server" && this.#postgres) return startSystem(await server(place, this.#postgres), place.cleanup)
    if (name === "untraced" && this.#postgres) return startSystem(await untraced(place, this.#postgres), place.cleanup)
    if (name === "python" && this.#postgres) return startSystem(await python(place, this.#postgres), place.cleanup)
    if (name === "python-floor") return startSystem(pythonFloor(place), place.cleanup)
    return startSystem(floor(place), place.cleanup)
  }
}
