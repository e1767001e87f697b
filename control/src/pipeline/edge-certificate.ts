/** The edge cannot read the operator's certificate and key when it runs as a user of its own: it gets a copy of the pair. */
import { rm } from "node:fs/promises"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { readTlsFiles, type TlsFiles } from "@superstep/toolkit/http/tls-files"
import type { Log } from "@superstep/toolkit/log/log"
import { fileMark } from "../files/growing-file.js"
import { writeWhole } from "../files/whole-file.js"

export interface CertificateOptions {
  /** The operator's; undefined when there are none. */
  readonly tls: TlsFiles | undefined
  /** Where the edge finds both, in one file so that it never finds half a pair. */
  readonly copy: string
  readonly reader: OsUser | undefined
  readonly log: Log
}

/**
 * @returns brings the copy up to date when the pair has changed. One that cannot be used, or copied, changes nothing; it is tried
 *          again at each call, and logged once
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
      await writeWhole(copy, `${cert}\n${key}\n`, reader)
      copied = mark
    } catch (err) {
      if (mark !== failed) log.error({ err }, "the edge goes on with its former certificate")
      failed = mark
    }
  }
}
