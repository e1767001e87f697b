/** The files that are generated for the exchange with listeners. Pure. */
import { type Definitions, receiversOf, typesOf } from "../schemas/generate.js"

const made =
  "Generated from `protocol/listener/exchange.schema.json` by `npm run generate -w protocol`; a test compares them."

/** What is received: requests by the control plane, replies by the installation that calls. */
const received = ["WorkRequest", "WorkReply", "ReportRequest", "ReportReply"]

/**
 * @param schema  the text of `listener/exchange.schema.json`
 * @returns       texts by path, relative to the folder `protocol`
 */
export function listenerFiles(schema: string): Readonly<Record<string, string>> {
  const definitions: Definitions = JSON.parse(schema).$defs
  return {
    "src/listener/messages.ts": typesOf(definitions, typesOpening),
    "src/listener/validators.ts": receiversOf(definitions, received, validatorsOpening),
  }
}

const typesOpening = `/**
 * What a listener's installation and its control plane send to each other; \`listener/README.md\` describes it.
 * ${made}
 * Long on purpose: it is printed from one schema.
 */
`

const validatorsOpening = `// @ts-nocheck
/**
 * Validators of the messages; each also drops the fields that it does not know.
 * ${made}
 * Long on purpose: Ajv prints it from one schema.
 */

`
