/** The workers of both languages, for tests that both must pass. Each has the same graphs: `tests/graphs`, and their equals in Python. */
import { readGraphs } from "../loading/langgraph-json.js"
import type { FakeServer } from "./fake-server.js"
import { worker as pythonFolder, skip, startPythonWorker } from "./python-worker.js"
import { startWorker } from "./worker.js"

export interface Language {
  readonly name: "JavaScript" | "Python"
  /** Why its tests cannot run, or false. */
  readonly skip: string | false
  /** Starts a worker that has loaded these graphs. */
  start(...graphIds: string[]): Promise<FakeServer>
}

const { project, graphs } = readGraphs(`${pythonFolder}testing/twins/langgraph.json`, "python")

async function startPython(...graphIds: string[]): Promise<FakeServer> {
  const server = await startPythonWorker()
  const { failed } = await server.load(
    project,
    Object.fromEntries(graphIds.map((graphId) => [graphId, graphs[graphId] ?? ""])),
  )
  if (failed.length > 0) throw new Error(failed.map(({ error }) => error.stack ?? error.message).join("\n"))
  return server
}

export const languages: readonly Language[] = [
  { name: "JavaScript", skip: false, start: startWorker },
  { name: "Python", skip, start: startPython },
]
