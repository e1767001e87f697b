/** The files that are generated for builds. Pure. */
import { type Definitions, receiversOf, typesOf } from "../schemas/generate.js"

const made =
  "Generated from `protocol/build/request.schema.json` by `npm run generate -w protocol`; a test compares them."

/** The build receives the first two, the control plane the others. */
const received = ["BuildRequest", "Sending", "PublishedBuild", "FailedBuild", "BuildFailure"]

/**
 * @param schema  the text of `build/request.schema.json`
 * @returns       texts by path, relative to the folder `protocol`
 */
export function buildFiles(schema: string): Readonly<Record<string, string>> {
  const definitions: Definitions = JSON.parse(schema).$defs
  return {
    "src/build/request.ts": typesOf(definitions, typesOpening),
    "src/build/validators.ts": receiversOf(definitions, received, validatorsOpening),
  }
}

const typesOpening = `/**
 * What the control plane and a build send to each other; \`build/README.md\` describes it.
 * ${made}
 */
`

const validatorsOpening = `// @ts-nocheck
/**
 * Validators of requests and results; each also drops the fields that it does not know.
 * ${made}
 */

`
