/** The agent server with graphs in Python, and their floor: the same graphs behind a bare ASGI server. */
import { join } from "node:path"
import type { RunningPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { BenchFailed } from "../http-client.js"
import { pathTo } from "../paths.js"
import { newDatabase } from "./new-database.js"
import { launchOn } from "./server.js"
import { type Kind, onSocket, type Place } from "./system.js"

/** A Python that has `langgraph` and `uvicorn`. */
export function benchPython(): string {
  const python = process.env.SUPERSTEP_TEST_PYTHON
  if (!python)
    throw new BenchFailed("--python needs a Python with langgraph and uvicorn: name it with SUPERSTEP_TEST_PYTHON")
  return python
}

/** Settings of a server with graphs in Python. */
export const pythonGraphs = () => ({
  SUPERSTEP_CONFIG: pathTo("graphs-python/langgraph.json"),
  SUPERSTEP_PYTHON: benchPython(),
})

export async function python({ folder }: Pick<Place, "folder">, postgres: RunningPostgres): Promise<Kind> {
  // Not those of the server with graphs in JavaScript.
  let number = 1000
  return {
    name: "python",
    saysEnd: true,
    pids: [postgres.pid],
    prepare: async () =>
      launchOn(folder, { number: ++number, databaseUri: await newDatabase(postgres), env: pythonGraphs() }),
  }
}

export function pythonFloor({ folder }: Pick<Place, "folder">): Kind {
  let count = 0
  return {
    name: "python-floor",
    saysEnd: true,
    pids: [],
    prepare: async () => {
      const socketPath = join(folder, `python-floor-${++count}.sock`)
      const argv = [benchPython(), pathTo("graphs-python/floor.py"), socketPath] as const
      return { program: { argv, env: {}, logFile: join(folder, "python-floor.log") }, target: onSocket(socketPath) }
    },
  }
}
