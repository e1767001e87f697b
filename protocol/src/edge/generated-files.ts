/** The files that are generated for the table of the edges. Pure. */
import { type Definitions, receiversOf, typesOf } from "../schemas/generate.js"

const made = "Generated from `protocol/edge/table.schema.json` by `npm run generate -w protocol`; a test compares them."

/** The edge receives a table; the control plane leaves out a route, or the rule of a unit, that would be refused. */
const received = ["Table", "Route", "PreflightRule"]

/**
 * @param schema  the text of `edge/table.schema.json`
 * @returns       texts by path, relative to the folder `protocol`
 */
export function edgeFiles(schema: string): Readonly<Record<string, string>> {
  const definitions: Definitions = JSON.parse(schema).$defs
  return {
    "src/edge/table.ts": typesOf(definitions, typesOpening),
    "src/edge/validators.ts": receiversOf(definitions, received, validatorsOpening),
  }
}

const typesOpening = `/**
 * The routing table that the control plane sends to each edge; \`edge/README.md\` describes it.
 * ${made}
 */
`

const validatorsOpening = `// @ts-nocheck
/**
 * Validators of a table, a route and a rule; each also drops the fields that it does not know.
 * ${made}
 */

`
