/** The files that are generated for the replies of units. Pure. */
import { type Definitions, receiversOf, typesOf } from "../schemas/generate.js"

const made =
  "Generated from `protocol/unit/replies.schema.json` by `npm run generate -w protocol`; a test compares them."

/** The replies, by the request that they answer. */
const received = ["Status", "Idle", "RunCounts", "Pins", "Orphans", "Acts"]

/**
 * @param schema  the text of `unit/replies.schema.json`
 * @returns       texts by path, relative to the folder `protocol`
 */
export function unitFiles(schema: string): Readonly<Record<string, string>> {
  const definitions: Definitions = JSON.parse(schema).$defs
  return {
    "src/unit/replies.ts": typesOf(definitions, typesOpening),
    "src/unit/validators.ts": receiversOf(definitions, received, validatorsOpening),
  }
}

const typesOpening = `/**
 * What a unit answers to the control plane; \`unit/README.md\` describes it.
 * ${made}
 */
`

const validatorsOpening = `// @ts-nocheck
/**
 * Validators of the replies; each also drops the fields that it does not know.
 * ${made}
 */

`
