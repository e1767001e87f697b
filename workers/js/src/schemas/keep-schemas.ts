/** Stores schemas that were read from sources, for servers that need them later (protocol, `kept-schemas.ts`). */
import { randomUUID } from "node:crypto"
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { type KeptSchemas, keptSchemasFile, type SchemaReading } from "@superstep/protocol/worker/kept-schemas"

/**
 * Adds a reading before the stored ones, and removes those that it replaces. The file is replaced atomically.
 * @throws  the system's error when the folder cannot be written to
 */
export function keepReading(project: string, reading: SchemaReading): void {
  const file = keptSchemasFile(project)
  const others = keptReadings(file).flatMap(({ schemas, inputs }) => {
    const left = Object.entries(schemas).filter(([spec]) => !Object.hasOwn(reading.schemas, spec))
    return left.length === 0 ? [] : [{ schemas: Object.fromEntries(left), ...(inputs && { inputs }) }]
  })
  const kept: KeptSchemas = { version: 1, readings: [reading, ...others] }
  const next = `${file}.${randomUUID()}`
  mkdirSync(dirname(file), { recursive: true })
  try {
    writeFileSync(next, JSON.stringify(kept))
    renameSync(next, file)
  } finally {
    rmSync(next, { force: true })
  }
}

function keptReadings(file: string): readonly SchemaReading[] {
  try {
    const kept = JSON.parse(readFileSync(file, "utf8")) as KeptSchemas
    return kept.version === 1 ? kept.readings : []
  } catch {
    // The file does not exist yet, or is invalid and is replaced.
    return []
  }
}
