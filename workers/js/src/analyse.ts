/**
 * Reads the schemas of graphs from their sources: `node analyse.js [--keep] <project> <path:export>…`. The server starts it for
 * graphs that do not provide their schemas at runtime, with limits of time and memory: TypeScript's compiler takes seconds and
 * some hundred megabytes. It executes no sources. It writes one line of JSON for each graph to standard output, in the order of
 * the arguments: the schemas by namespace, with those of the graph itself under the empty namespace.
 *
 *     {"schemas": {"": {"input_schema": …, "output_schema": …, …}, "sub": {…}, "sub|inner": {…}}}
 *     {"error": "…"}
 *
 * The schemas are `{}` when the source does not contain them either. With `--keep` the result is also stored in a file of the
 * project until something that it depends on changes.
 *
 * The control plane starts it as `node analyse.js --artifact <langgraph.json>` for a folder that never changes. It reads all
 * graphs and writes the content of that file, without what it depends on, to standard output (protocol, `kept-schemas.ts`).
 */
import { setPriority } from "node:os"
import { resolve } from "node:path"
import { parseArgs } from "node:util"
import type { KeptSchemas } from "@superstep/protocol/worker/kept-schemas"
import { parseSpec } from "./loading/graph-spec.js"
import { readGraphs } from "./loading/langgraph-json.js"
import { keepReading } from "./schemas/keep-schemas.js"
import { graphTypes } from "./schemas/source-graphs.js"
import { SourceRecorder } from "./schemas/source-inputs.js"
import { openPrograms } from "./schemas/source-program.js"
import { schemasOf } from "./schemas/source-schemas.js"

const { values: asked, positionals } = parseArgs({
  options: { keep: { type: "boolean" }, artifact: { type: "boolean" } },
  allowPositionals: true,
})
// Runs have priority: a client that waits for schemas can wait a little longer. A lower priority than this would get nothing for minutes
// while the runs need all processors.
setPriority(5)

const [project, ...specs] = asked.artifact ? allGraphs(positionals[0]) : positionals
if (project === undefined || specs.length === 0)
  throw new Error("usage: analyse [--keep] <project> <path:export>… | --artifact <langgraph.json>")

type Schemas = Readonly<Record<string, object>>

const graphs = specs.map((spec) => ({ spec, ...parseSpec(spec) }))
const fileOf = ({ path }: { readonly path: string }) => resolve(project, path)
const recorder = new SourceRecorder()
const programOf = openPrograms(graphs.map(fileOf), asked.keep ? recorder.system : undefined)
const known: Record<string, Schemas> = {}
const answers = graphs.map(read)
// Failures are not stored: a source that could not be read may be readable the next time.
if (asked.artifact)
  process.stdout.write(JSON.stringify({ version: 1, readings: [{ schemas: known }] } satisfies KeptSchemas))
else {
  for (const answer of answers) process.stdout.write(`${JSON.stringify(answer)}\n`)
  if (asked.keep && Object.keys(known).length > 0) keep()
}

function allGraphs(configPath = ""): string[] {
  const { project, graphs } = readGraphs(configPath)
  return [project, ...new Set(Object.values(graphs))]
}

/** Stores the result. When the folder is not writable, nothing is stored, and the caller gets the result anyway. */
function keep(): void {
  try {
    keepReading(project ?? "", { schemas: known, inputs: recorder.inputs })
  } catch (error) {
    process.stderr.write(`the schemas were not stored: ${error instanceof Error ? error.message : String(error)}\n`)
  }
}

/** A source that cannot be read does not affect the others. */
function read(graph: (typeof graphs)[number]): { readonly schemas: Schemas } | { readonly error: string } {
  try {
    const file = fileOf(graph)
    const program = programOf(file)
    if (program === undefined) return { error: `${file} is not a source file that TypeScript can read` }
    const types = graphTypes(program, graph.name).map(({ namespace, type }) => [namespace, schemasOf(program, type)])
    const schemas = Object.fromEntries(types) as Schemas
    known[graph.spec] = schemas
    return { schemas }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
