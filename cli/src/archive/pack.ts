/** Packs a project into an archive for the platform. */
import { stat } from "node:fs/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { create } from "tar"
import { findProjectFiles } from "./project-files.js"

// The platform's limit (control-plane §1.4).
const mostBytes = 200 * 1024 * 1024

export class ArchiveTooLarge extends KnownError {
  readonly code = "archive_too_large"
}

export interface Packed {
  readonly files: number
  /** Size of the archive. */
  readonly bytes: number
  /** Links that were left out. */
  readonly links: readonly string[]
}

/**
 * Writes a `.tar.gz` that is identical for the same files, whoever packs them and when.
 * @throws ArchiveTooLarge  with what to do
 */
export async function packProject(folder: string, file: string): Promise<Packed> {
  const { paths, links } = findProjectFiles(folder)
  // Names that start with @ would be archives to be added.
  const names = paths.map((path) => `./${path}`)
  await create({ cwd: folder, file, gzip: { level: 6 }, portable: true, noMtime: true, follow: false, jobs: 1 }, names)
  const { size: bytes } = await stat(file)
  if (bytes > mostBytes)
    throw new ArchiveTooLarge(
      `the archive has ${mb(bytes)}, but the platform accepts at most ${mb(mostBytes)}: exclude files with .gitignore or .dockerignore`,
    )
  return { files: paths.length, bytes, links }
}

export const mb = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`
