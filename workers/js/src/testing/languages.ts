/** The workers of both languages, for tests that both must pass. Each has the same graphs: `tests/graphs`, and their equals in Python. */
import { after, before, describe } from "node:test"
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

/**
 * Tests that the workers of both languages pass. One worker of each has loaded the graphs for all of them: loading LangGraph takes as long as
 * all their runs, each of which has its own thread and claim.
 * @param tests  `server` gives the worker to a test
 */
export function inBothLanguages(
  graphIds: readonly string[],
  tests: (it: Language & { readonly server: () => FakeServer }) => void,
): void {
  for (const language of languages)
    describe(`in ${language.name}`, { skip: language.skip }, () => {
      let server: FakeServer
      before(async () => {
        server = await language.start(...graphIds)
      })
      after(() => server?.[Symbol.asyncDispose]())
      tests({ ...language, server: () => server })
    })
}
