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
  return {
    /** Before the edge gets the table: it reads a file when a caller asks for its name. */
    async addMissing(table: Table, pemOf: Parameters<Edge["push"]>[1]): Promise<void> {
      for (const sha256 of certificatesOf(table)) {
        const file = certificateFile(folder, sha256)
        const isThere = await access(file).then(() => true, ifCode(missing, false))
        if (isThere || !pemOf) continue
        // One that cannot be read or written must not keep the table from the edge, which then shows the operator's certificate.
        try {
          await writeShared(file, await pemOf(sha256), reader)
        } catch (err) {
          log.error({ err, certificate: sha256 }, "a certificate cannot be handed to the edge")
        }
      }
    },
    /** After it has taken the table. */
    async removeOthers(table: Table): Promise<void> {
      const wanted = new Set([...certificatesOf(table)].map((sha256) => `${sha256}.pem`))
      const names = await readdir(folder).catch(ifCode(missing, []))
      for (const name of names.filter((it) => !wanted.has(it))) await rm(join(folder, name), { force: true })
    },
  }
}

const certificatesOf = ({ routes }: Table): ReadonlySet<string> =>
  new Set(routes.flatMap(({ host_names = [] }) => host_names.flatMap(({ certificate = [] }) => certificate)))
