/** The files that are generated for the worker protocol. Pure. */
import { type Definitions, pythonValidatorsOf, type Tables, typesOf, validatorsOf } from "../schemas/generate.js"

const made =
  "Generated from `protocol/worker/frames.schema.json` by `npm run generate -w protocol`; a test compares them."

const frames = {
  workerFrames: { of: "WorkerFrame", by: "type" },
  serverFrames: { of: "ServerFrame", by: "type" },
}
const calls = {
  workerCalls: { of: "WorkerCall", by: "method" },
  serverCalls: { of: "ServerCall", by: "method" },
}

/**
 * @param schema  the text of `worker/frames.schema.json`
 * @returns       texts by path, relative to the folder `protocol`
 */
export function generatedFiles(schema: string): Readonly<Record<string, string>> {
  const definitions: Definitions = JSON.parse(schema).$defs
  // A frame of type `call` is first checked for what each call has; then its method's fields are.
  const anyCall = { $ref: "#/$defs/AnyCall" }
  const flat = (name: string) => {
    const { oneOf = [] } = definitions[name] ?? {}
    return { oneOf: [...oneOf.filter(({ $ref }) => !/(Worker|Server)Call$/.test($ref ?? "")), anyCall] }
  }
  const all = { ...definitions, WorkerFrame: flat("WorkerFrame"), ServerFrame: flat("ServerFrame") }
  const python: Tables = { frames: frames.serverFrames, calls: { ...calls.serverCalls, checked: ["type", "call_id"] } }
  return {
    "src/worker/frames.ts": typesOf(definitions, typesOpening),
    "src/worker/validators.ts": validatorsOf(all, { ...frames, ...calls }, validatorsOpening),
    "../workers/python/superstep_worker/connection/header_fields.py": pythonValidatorsOf(all, python, pythonOpening),
  }
}

const typesOpening = `/**
 * The headers of the worker protocol's frames, for both sides; \`worker/README.md\` describes the protocol.
 * ${made}
 * Long on purpose: it is printed from one schema.
 */
`

const validatorsOpening = `// @ts-nocheck
/**
 * Validators of the worker protocol's headers, by \`type\` and by \`method\`.
 * ${made}
 * Long on purpose: Ajv prints it from one schema.
 */
import type { Validators } from "./validate.js"

`

const pythonOpening = `"""The headers of the server: by \`type\` or \`method\`, the required fields, and a validator for each field.

${made}
Long on purpose: it is printed from one schema.
"""

# ruff: noqa: E501, E721
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Fields = tuple[Sequence[str], Mapping[str, Callable[[Any], bool]]]
`
