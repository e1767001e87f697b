/** Reads a certificate with its key, for the edge. */
import type { Db } from "@superstep/toolkit/db/database"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { type MasterKey, open } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import { certificateBySha256 } from "./certificate-queries.js"

/**
 * @returns  PEM: the certificate, its issuers, its private key
 * @throws Unavailable  it was replaced by a newer one, which the next table has
 */
export async function certificatePem({ db, key }: { db: Db; key: MasterKey }, sha256: string): Promise<string> {
  const row = await certificateBySha256(db, sha256)
  if (!row) throw new Unavailable(`the certificate ${sha256} was replaced meanwhile`)
  return `${row.certificate}\n${open(key, row.private_key_sealed, contextOf.hostName(row.host_name))}`
}
