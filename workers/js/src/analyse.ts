/**
 * Reads the schemas of a graph out of its source: `node analyse.js <project> <path:export>`. The server starts it for
 * graphs that do not tell their schemas while they run, with limits of time and memory: TypeScript's compiler takes
 * seconds and some hundred megabytes. It reads sources and executes none. One line of JSON goes to standard output, the
 * schemas by namespace, with the graph itself under the empty one:
 *
 *     {"": {"input_schema": …, "output_schema": …, …}, "sub": {…}, "sub|inner": {…}}
 *
 * `{}` when the source does not tell either.
 */
import { setPriority } from "node:os"
import { resolve } from "node:path"
import { parseSpec } from "./graph-spec.js"
import { graphTypes } from "./source-graphs.js"
import { openProgram } from "./source-program.js"
import { schemasOf } from "./source-schemas.js"

// Whoever waits for schemas can wait a little longer; those who wait for a run cannot.
setPriority(10)

const [project, spec] = process.argv.slice(2)
if (project === undefined || spec === undefined) throw new Error("usage: analyse <project> <path:export>")

const { path, name } = parseSpec(spec)
const program = openProgram(resolve(project, path))
const schemas = graphTypes(program, name).map(({ namespace, type }) => [namespace, schemasOf(program, type)])
process.stdout.write(`${JSON.stringify(Object.fromEntries(schemas))}\n`)
