/**
 * The file, beside `langgraph.json`, for schemas that can only be read from the sources. The program that reads the sources
 * writes it (workers/js, `analyse.ts`); agent servers read it.
 */
import { join } from "node:path"

export const keptSchemasFile = (projectFolder: string): string => join(projectFolder, ".superstep", "schemas.json")

export interface KeptSchemas {
  readonly version: 1
  readonly readings: readonly SchemaReading[]
}

/** The result of one reading of the sources. */
export interface SchemaReading {
  /** By `path:export` as in `langgraph.json`, then by namespace; the graph itself has the empty namespace. */
  readonly schemas: Readonly<Record<string, Readonly<Record<string, object>>>>
  /** What the result depends on. Absent in an artifact of a build, which never changes. */
  readonly inputs?: SourceInputs | undefined
}

/** While all of this is unchanged, reading the sources again gives the same schemas. */
export interface SourceInputs {
  /** SHA-256 (hex) of each file that was read, by absolute path. */
  readonly files: Readonly<Record<string, string>>
  /** Absolute paths at which no file was found: a file that appears there may take precedence the next time. */
  readonly absent: readonly string[]
}
