/**
 * Reads the schemas of graphs out of their sources: `node analyse.js <project> <path:export>…`. The server starts it for
 * graphs that do not tell their schemas while they run, with limits of time and memory: TypeScript's compiler takes
 * seconds and some hundred megabytes. It reads sources and executes none. Standard output gets one line of JSON for each
 * graph, in the order in which they were asked for: its schemas by namespace, with the graph itself under the empty one.
 *
 *     {"schemas": {"": {"input_schema": …, "output_schema": …, …}, "sub": {…}, "sub|inner": {…}}}
 *     {"error": "…"}
 *
 * The schemas are `{}` when the source does not tell either.
 */
import { setPriority } from "node:os"
import { resolve } from "node:path"
import { parseSpec } from "./graph-spec.js"
import { graphTypes } from "./source-graphs.js"
import { openPrograms } from "./source-program.js"
import { schemasOf } from "./source-schemas.js"

// Whoever waits for schemas can wait a little longer; those who wait for a run cannot.
setPriority(10)

const [project, ...specs] = process.argv.slice(2)
if (project === undefined || specs.length === 0) throw new Error("usage: analyse <project> <path:export>…")

const graphs = specs.map(parseSpec).map(({ path, name }) => ({ file: resolve(project, path), name }))
const programOf = openPrograms(graphs.map(({ file }) => file))
for (const { file, name } of graphs) process.stdout.write(`${JSON.stringify(read(file, name))}\n`)

/** A source that cannot be read does not keep the others from it. */
function read(file: string, name: string): object {
  try {
    const program = programOf(file)
    if (program === undefined) return { error: `${file} is no source that TypeScript can read` }
    const schemas = graphTypes(program, name).map(({ namespace, type }) => [namespace, schemasOf(program, type)])
    return { schemas: Object.fromEntries(schemas) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
