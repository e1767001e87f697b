/** An uploaded archive as the source of code, wherever its bytes are stored. Pure. */
import { SourceFailed } from "./port.js"

export interface ArchiveLocation {
  /** Reads the packed bytes; fewer when the archive is deleted meanwhile. */
  read(): AsyncIterable<Buffer>
  readonly sizeBytes: number
  readonly sha256: string
}

export const archiveWasDeleted = (): SourceFailed =>
  new SourceFailed("source_not_found", "the archive was deleted: upload the code again")
