/** The workers of both languages, for tests that both must pass. Each has the same graphs: `tests/graphs`, and their equals in Python. */
import { readGraphs } from "../loading/langgraph-json.js"
import { FakeServer } from "./fake-server.js"
import { worker as pythonFolder, skip, startPythonWorker } from "./python-worker.js"
import { graphsFolder, startWorker, workerMain } from "./worker.js"

export interface Language {
  readonly name: "JavaScript" | "Python"
  /** Why its tests cannot run, or false. */
  readonly skip: string | false
  /** Starts a worker that has loaded these graphs. */
  start(...graphIds: string[]): Promise<FakeServer>
  /** Starts a worker that has loaded nothing. @returns it, and the folder of its graphs */
  open(): Promise<{ readonly server: FakeServer; readonly project: string }>
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
  {
    name: "JavaScript",
    skip: false,
    start: startWorker,
    open: async () => ({ server: await FakeServer.start(workerMain), project: graphsFolder }),
  },
  { name: "Python", skip, start: startPython, open: async () => ({ server: await startPythonWorker(), project }) },
]
