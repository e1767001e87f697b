/**
 * Stored schemas that were read from a project's sources earlier: after its build, or by a server on request. They are valid
 * while everything that was read is unchanged.
 */
import { createHash } from "node:crypto"
import { access, readFile, stat } from "node:fs/promises"
import { keptSchemasFile } from "@superstep/protocol/worker/kept-schemas"
import type { Log } from "@superstep/toolkit/log/log"
import { z } from "zod"
import type { SourceSchemas } from "./graph-schemas.js"

const schemas = z.object({
  input_schema: z.unknown(),
  output_schema: z.unknown(),
  state_schema: z.unknown(),
  config_schema: z.unknown(),
  context_schema: z.unknown(),
})

const keptSchemas = z.object({
  version: z.literal(1),
  readings: z.array(
    z.object({
      schemas: z.record(z.string(), z.record(z.string(), schemas)),
      inputs: z.object({ files: z.record(z.string(), z.string()), absent: z.array(z.string()) }).optional(),
    }),
  ),
})

type Reading = z.output<typeof keptSchemas>["readings"][number]

// The file is not trusted, and the files that it names are opened: only plain files up to this size are read.
const maxFileBytes = 64 * 1024 * 1024

// A project's packages have some thousand declaration files.
const atATime = 32

/** @returns schemas by `path:export`; empty when none are stored, or when they cannot be read */
export async function readKeptSchemas(folder: string, log: Log): Promise<ReadonlyMap<string, SourceSchemas>> {
  const file = keptSchemasFile(folder)
  try {
    const bytes = await plainFile(file)
    if (bytes === undefined) return new Map()
    const { readings } = keptSchemas.parse(JSON.parse(bytes.toString("utf8")))
    const checked = await Promise.all(readings.map(async (reading) => ((await stillHolds(reading)) ? [reading] : [])))
    return new Map(checked.flat().flatMap((reading) => Object.entries(reading.schemas)))
  } catch (err) {
    log.warn({ err, file }, "the cached schemas are invalid: reading them from the sources again")
    return new Map()
  }
}

/** A reading without inputs belongs to an artifact, which does not change. */
async function stillHolds({ inputs }: Reading): Promise<boolean> {
  if (inputs === undefined) return true
  const isSame = async ([path, hash]: readonly [string, string]) => {
    const bytes = await plainFile(path)
    return bytes !== undefined && createHash("sha256").update(bytes).digest("hex") === hash
  }
  const isAbsent = (path: string) =>
    access(path).then(
      () => false,
      () => true,
    )
  return (await every(Object.entries(inputs.files), isSame)) && (await every(inputs.absent, isAbsent))
}

async function every<Item>(items: readonly Item[], holds: (item: Item) => Promise<boolean>): Promise<boolean> {
  for (let next = 0; next < items.length; next += atATime) {
    const answers = await Promise.all(items.slice(next, next + atATime).map(holds))
    if (answers.includes(false)) return false
  }
  return true
}

async function plainFile(path: string): Promise<Buffer | undefined> {
  try {
    const found = await stat(path)
    return found.isFile() && found.size <= maxFileBytes ? await readFile(path) : undefined
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(code)) return undefined
    throw error
  }
}
