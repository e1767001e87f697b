/** Certificates in the table `host_names`, and the tables `acme_accounts` and `acme_challenges`. */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { StorableText } from "@superstep/toolkit/text/storable"

/** A name for which the authority is to be asked. */
export interface DueName {
  readonly host_name: string
  readonly deployment_id: string
  readonly workspace_id: string
  /** Number of this try since the last certificate, from 1. */
  readonly tries: number
  readonly verified_at: Date | null
  /** Why the try before this one failed. */
  readonly failure: string | null
}

/** Takes names that are due, and holds them: no other control plane asks for them meanwhile. @param holdMs  longer than a try */
export const takeDueNames = (db: Db, { limit, holdMs }: { limit: number; holdMs: number }): Promise<DueName[]> =>
  db.rows(sql`
    with due as (
      select host_name from host_names where next_try_at <= now()
      order by next_try_at limit ${limit} for update skip locked)
    update host_names h set tries = h.tries + 1, next_try_at = now() + make_interval(secs => ${holdMs} / 1000.0)
    from due, deployments d where due.host_name = h.host_name and d.deployment_id = h.deployment_id
    returning h.host_name, h.deployment_id, d.workspace_id, h.tries, h.verified_at, h.failure`)

/** When the next name is due, in milliseconds from now; undefined when none is. */
export const nextDueMs = async (db: Db): Promise<number | undefined> => {
  const row = await db.row<{ due: number | null }>(sql`
    select extract(epoch from min(next_try_at) - now())::float8 * 1000 as due from host_names
    where next_try_at is not null`)
  return row?.due ?? undefined
}

// The name may be another deployment's by now, or another try may have begun.
const ofTry = ({ host_name, deployment_id, tries }: DueName) =>
  sql`host_name = ${host_name} and deployment_id = ${deployment_id} and tries = ${tries}`

export interface StoredCertificate {
  readonly chain: string
  readonly sha256: string
  readonly privateKeySealed: string
  readonly validFrom: Date
  readonly validUntil: Date
  readonly renewAt: Date
}

/** @returns  0 when the try is no longer the name's present one */
export const storeCertificate = (tx: Db, due: DueName, it: StoredCertificate): Promise<number> =>
  tx.run(sql`
    update host_names set verified_at = coalesce(verified_at, now()), certificate = ${it.chain},
      certificate_sha256 = ${it.sha256}, private_key_sealed = ${it.privateKeySealed}, valid_from = ${it.validFrom},
      valid_until = ${it.validUntil}, next_try_at = ${it.renewAt}, tries = 0, failure = null
    where ${ofTry(due)}`)

/** @returns  0 when the try is no longer the name's present one */
export const storeFailure = (tx: Db, due: DueName, failure: StorableText, againMs: number): Promise<number> =>
  tx.run(sql`
    update host_names set failure = ${failure}, next_try_at = now() + make_interval(secs => ${againMs} / 1000.0)
    where ${ofTry(due)}`)

/** The try was interrupted by our stop and counts as if it had not been. */
export const returnTry = (db: Db, due: DueName): Promise<number> =>
  db.run(sql`update host_names set tries = tries - 1, next_try_at = now() where ${ofTry(due)}`)

export interface Challenge {
  readonly token: string
  readonly host_name: string
  readonly key_authorization: string
}

/**
 * Replaces what a killed process may have left of this name.
 * @returns  0 when the try is no longer the name's present one
 */
export async function storeChallenge(tx: Db, due: DueName, it: Omit<Challenge, "host_name">): Promise<number> {
  const present = await tx.row(sql`select from host_names where ${ofTry(due)} for update`)
  if (!present) return 0
  await removeChallenges(tx, due.host_name)
  return tx.run(sql`
    insert into acme_challenges (token, host_name, key_authorization)
    values (${it.token}, ${due.host_name}, ${it.key_authorization})`)
}

export const removeChallenges = (tx: Db, hostName: string): Promise<number> =>
  tx.run(sql`delete from acme_challenges where host_name = ${hostName}`)

export const allChallenges = (db: Db): Promise<Challenge[]> =>
  db.rows(sql`select token, host_name, key_authorization from acme_challenges order by token`)

/** @returns  undefined when the certificate was replaced */
export const certificateBySha256 = (
  db: Db,
  sha256: string,
): Promise<{ host_name: string; certificate: string; private_key_sealed: string } | undefined> =>
  db.row(sql`
    select host_name, certificate, private_key_sealed from host_names where certificate_sha256 = ${sha256}`)

/** The first key that is stored counts, also of two concurrent ones. */
export async function accountKey(db: Db, directoryUrl: string, newKeySealed: string): Promise<string> {
  await db.run(sql`
    insert into acme_accounts (directory_url, private_key_sealed) values (${directoryUrl}, ${newKeySealed})
    on conflict do nothing`)
  const row = await db.row<{ private_key_sealed: string }>(sql`
    select private_key_sealed from acme_accounts where directory_url = ${directoryUrl}`)
  return row?.private_key_sealed ?? newKeySealed
}

export interface CertificateExpiry {
  readonly host_name: string
  readonly deployment_id: string
  /** Unix time. */
  readonly expires_at: number
}

export const certificateExpiries = (db: Db): Promise<CertificateExpiry[]> =>
  db.rows(sql`
    select host_name, deployment_id, extract(epoch from valid_until)::float8 as expires_at from host_names
    where valid_until is not null order by host_name`)

/** A renewal that fails: the former certificate is used until it expires. */
export interface RenewalFailure {
  readonly host_name: string
  readonly failure: string
}

export const renewalFailures = (db: Db): Promise<RenewalFailure[]> =>
  db.rows(sql`
    select host_name, failure from host_names
    where valid_until is not null and failure is not null order by host_name`)
