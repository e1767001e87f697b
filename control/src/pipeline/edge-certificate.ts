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

/** @returns brings the copy up to date when the pair has changed; one that cannot be used changes nothing */
export function certificateCopy({ tls, copy, reader, log }: CertificateOptions): () => Promise<void> {
  let copied: string | undefined
  return async () => {
    const mark = tls && [await fileMark(tls.certFile), await fileMark(tls.keyFile)].join(" ")
    if (mark === copied && copied !== undefined) return
    if (!tls) return rm(copy, { force: true })
    try {
      const { cert, key } = readTlsFiles(tls)
      await writeWhole(copy, `${cert}\n${key}\n`, reader)
    } catch (err) {
      log.error({ err }, "the edge goes on with its former certificate")
    }
    copied = mark
  }
}
