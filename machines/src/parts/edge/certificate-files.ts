/** Writes the certificates of host names for the edge, whose user can read them and nobody else. */
import { access, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { certificateFile } from "@superstep/edge/certificates"
import type { Edge } from "@superstep/edge/port"
import type { Table } from "@superstep/edge/table"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { writeShared } from "@superstep/toolkit/files/shared-file"
import type { Log } from "@superstep/toolkit/log/log"

export interface CertificateFiles {
  readonly folder: string
  /** The edge's user; undefined when it runs as our own. */
  readonly reader: OsUser | undefined
  readonly log: Log
}

export function certificateFiles({ folder, reader, log }: CertificateFiles) {
  /** Kept, since whoever pushes a table answers for its certificates only until the push has ended. */
  const unwritten = new Map<string, string>()
  const write = async (sha256: string, pem: string): Promise<void> => {
    try {
      await writeShared(certificateFile(folder, sha256), pem, reader)
      unwritten.delete(sha256)
    } catch (err) {
      if (!unwritten.has(sha256))
        log.error({ err, certificate: sha256 }, "a certificate cannot be written for the edge")
      unwritten.set(sha256, pem)
    }
  }
  return {
    /** Before the edge gets the table: it reads a file when a caller asks for its name. */
    async addMissing(table: Table, pemOf: Parameters<Edge["push"]>[1]): Promise<void> {
      for (const sha256 of certificatesOf(table)) {
        const isThere = await access(certificateFile(folder, sha256)).then(() => true, ifCode(missing, false))
        if (isThere || !pemOf) continue
        // One that cannot be read or written must not keep the table from the edge, which then shows the operator's certificate.
        const pem = await pemOf(sha256).catch((err: unknown) =>
          log.error({ err, certificate: sha256 }, "a certificate cannot be handed to the edge"),
        )
        if (pem !== undefined) await write(sha256, pem)
      }
    },
    /** Writes what could not be written: the next table may come much later than space on the disk. */
    async addUnwritten(): Promise<void> {
      for (const [sha256, pem] of unwritten) await write(sha256, pem)
    },
    /** After it has taken the table. */
    async removeOthers(table: Table): Promise<void> {
      const certificates = certificatesOf(table)
      for (const sha256 of unwritten.keys()) if (!certificates.has(sha256)) unwritten.delete(sha256)
      const wanted = new Set([...certificates].map((sha256) => `${sha256}.pem`))
      const names = await readdir(folder).catch(ifCode(missing, []))
      for (const name of names.filter((it) => !wanted.has(it))) await rm(join(folder, name), { force: true })
    },
  }
}

const certificatesOf = ({ routes }: Table): ReadonlySet<string> =>
  new Set(routes.flatMap(({ host_names = [] }) => host_names.flatMap(({ certificate = [] }) => certificate)))
