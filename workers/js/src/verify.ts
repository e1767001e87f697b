/**
 * Loads every graph of a project in JavaScript or TypeScript and reports the result: `node verify.js <langgraph.json> [result file]
 * [nodes]`. The build calls it in a child process with a time limit. It writes one line of JSON to standard output, or to the result file, which
 * cannot contain output of user code:
 *
 *     {"graphs": ["chat"], "failed": [{"graph_id", "message", "code_frame"?}], "langgraph_version": "1.4.12"}
 *
 * Exit code 0 when all graphs load, else 1. A `graph_id` is empty when the file itself is invalid. `lacks_schemas` is true when
 * some graph does not provide its schemas at runtime, so that they are to be read from its source (`analyse.ts`).
 * With the word `nodes` the report also has `nodes`, the names of each graph's nodes. Factories are called for that; one that
 * fails is left out.
 */
import { writeFileSync, writeSync } from "node:fs"
import { describeError } from "./errors/describe-error.js"
import { readGraphs } from "./loading/langgraph-json.js"
import { type LoadResult, loadGraphs, openProject } from "./loading/loader.js"
import { offerSdkLogger } from "./runs/sdk-logger.js"
import { runtimeSchemas } from "./schemas/graph-schemas.js"

interface Report {
  readonly graphs: readonly string[]
  readonly failed: readonly { readonly graph_id: string; readonly message: string; readonly code_frame?: string }[]
  readonly langgraph_version?: string
  readonly lacks_schemas?: boolean
  readonly nodes?: Readonly<Record<string, readonly string[]>>
}

const [configPath, resultPath, more] = process.argv.slice(2)
const wantsNodes = more === "nodes"
// Node sets this exit code when a top-level await can never settle. Ours waits for the graph's.
const unsettledAwait = 13

/** The graph that is being loaded. */
let loading = ""
/** Undefined while graphs are being loaded. */
let finished: Report | undefined

// Writes the report at exit, which user code cannot prevent by calling `process.exit` itself.
process.on("exit", () => {
  const report = finished ?? cutShort()
  const line = `${JSON.stringify(report)}\n`
  if (resultPath === undefined) writeSync(1, line)
  else writeFileSync(resultPath, line)
  process.exitCode = report.failed.length === 0 ? 0 : 1
})
// Standard output is for the report; output of user code goes to standard error.
process.stdout.write = process.stderr.write.bind(process.stderr)

finished = await verify()
// User code may have left timers and connections open.
process.exit()

async function verify(): Promise<Report> {
  if (configPath === undefined) return broken(new Error("usage: verify <langgraph.json> [result file]"))
  try {
    const { project, graphs } = readGraphs(configPath)
    process.chdir(project)
    offerSdkLogger()
    await openProject(project, graphs)
    const loaded = await loadGraphs(project, graphs, (graphId) => {
      loading = graphId
    })
    const nodes = wantsNodes ? { nodes: await nodesOf(loaded) } : {}
    return { ...reportOf(loaded), lacks_schemas: await lacksSchemas(loaded), ...nodes }
  } catch (error) {
    return broken(error)
  }
}

/** The report when the process ends before the graphs are loaded. */
function cutShort(): Report {
  const message =
    process.exitCode === unsettledAwait
      ? `graph "${loading}" does not finish loading: its module has a top-level await that never settles`
      : `the code of graph "${loading}" ended the process while it was loading`
  return { graphs: [], failed: [{ graph_id: loading, message }] }
}

function reportOf({ graphs, failed }: LoadResult): Report {
  const version = [...graphs.values()].find(({ library }) => library.version !== undefined)?.library.version
  return {
    graphs: [...graphs.keys()],
    failed: failed.map(({ graph_id, error: { message, code_frame } }) => ({
      graph_id,
      message,
      ...(code_frame === undefined ? {} : { code_frame }),
    })),
    ...(version === undefined ? {} : { langgraph_version: version }),
  }
}

async function nodesOf({ graphs }: LoadResult): Promise<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {}
  for (const [graphId, loaded] of graphs) {
    try {
      const { graph } = await loaded.use({}, { accessContext: "assistants.read", executionRuntime: null })
      if (graph.nodes) found[graphId] = Object.keys(graph.nodes)
    } catch (error) {
      process.stderr.write(`graph "${graphId}" cannot be made without a config: ${describeError(error).message}\n`)
    }
  }
  return found
}

/** Whether some graph does not provide its schemas at runtime. A factory's graph is unknown until it is used. */
async function lacksSchemas({ graphs }: LoadResult): Promise<boolean> {
  for (const { shared, library } of graphs.values()) {
    if (shared === undefined || (await runtimeSchemas(shared, library)).state_schema === null) return true
  }
  return false
}

function broken(error: unknown): Report {
  return { graphs: [], failed: [{ graph_id: "", message: describeError(error).message }] }
}
