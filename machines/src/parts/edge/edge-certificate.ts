/** Copies the operator's certificate and key for the edge, which cannot read the originals when it runs as a user of its own. */
import { rm } from "node:fs/promises"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { fileMark } from "@superstep/toolkit/files/growing-file"
import { writeShared } from "@superstep/toolkit/files/shared-file"
import { readTlsFiles, type TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { Log } from "@superstep/toolkit/log/log"

export interface CertificateOptions {
  /** The operator's pair; undefined when there is none. */
  readonly tls: TlsFiles | undefined
  /** The copy: both in one file, so that the edge never reads a mismatched pair. */
  readonly copy: string
  readonly reader: OsUser | undefined
  readonly log: Log
}

/**
 * @returns  a function that updates the copy when the pair has changed. A pair that cannot be used or copied changes nothing;
 *           each call tries it again, and it is logged once
 */
export function certificateCopy({ tls, copy, reader, log }: CertificateOptions): () => Promise<void> {
  let copied: string | undefined
  let failed: string | undefined
  return async () => {
    const mark = tls && [await fileMark(tls.certFile), await fileMark(tls.keyFile)].join(" ")
    if (mark === copied && copied !== undefined) return
    if (!tls) return rm(copy, { force: true })
    try {
      const { cert, key } = readTlsFiles(tls)
      await writeShared(copy, `${cert}\n${key}\n`, reader)
      copied = mark
    } catch (err) {
      if (mark !== failed) log.error({ err }, "the edge goes on with its former certificate")
      failed = mark
    }
  }
}
