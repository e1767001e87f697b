/**
 * Loads every graph of a project and says how that went: `node verify.js <langgraph.json> [result file]`. The build
 * calls it in a child process with a time limit. One line of JSON goes to standard output, or to the result file,
 * where nothing that user code prints can come between:
 *
 *     {"graphs": ["chat"], "failed": [{"graph_id", "message", "code_frame"?}], "langgraph_version": "1.4.12"}
 *
 * Exit code 0 when all graphs load, else 1. A `graph_id` is empty when the file itself is at fault.
 */
import { writeFileSync, writeSync } from "node:fs"
import { readGraphs } from "./langgraph-json.js"
import { type LoadResult, loadGraphs } from "./loader.js"
import { openProject } from "./open-project.js"

interface Report {
  readonly graphs: readonly string[]
  readonly failed: readonly { readonly graph_id: string; readonly message: string; readonly code_frame?: string }[]
  readonly langgraph_version?: string
}

const [configPath, resultPath] = process.argv.slice(2)
// Node sets this exit code when nothing is left that could settle a top-level await: ours waits for that of the graph.
const unsettledAwait = 13

/** The graph that is being loaded. */
let loading = ""
/** Undefined while graphs are being loaded. */
let finished: Report | undefined

// A write at exit is the only one that user code cannot prevent by calling `process.exit` itself.
process.on("exit", () => {
  const report = finished ?? cutShort()
  const line = `${JSON.stringify(report)}\n`
  if (resultPath === undefined) writeSync(1, line)
  else writeFileSync(resultPath, line)
  process.exitCode = report.failed.length === 0 ? 0 : 1
})
// Standard output is for the report; what user code prints goes to standard error.
process.stdout.write = process.stderr.write.bind(process.stderr)

finished = await verify()
// User code may have left timers and connections open.
process.exit()

async function verify(): Promise<Report> {
  if (configPath === undefined) return broken(new Error("usage: verify <langgraph.json> [result file]"))
  try {
    const { project, graphs } = readGraphs(configPath)
    process.chdir(project)
    await openProject(project, graphs)
    return told(
      await loadGraphs(project, graphs, (graphId) => {
        loading = graphId
      }),
    )
  } catch (error) {
    return broken(error)
  }
}

/** What is reported when the process ends before the graphs are loaded. */
function cutShort(): Report {
  const message =
    process.exitCode === unsettledAwait
      ? `graph "${loading}" does not finish loading: its module has a top-level await that never settles`
      : `the code of graph "${loading}" ended the process while it was loaded`
  return { graphs: [], failed: [{ graph_id: loading, message }] }
}

function told({ graphs, failed }: LoadResult): Report {
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

function broken(error: unknown): Report {
  return { graphs: [], failed: [{ graph_id: "", message: error instanceof Error ? error.message : String(error) }] }
}
