/** `credentials.json`: how to reach this installation. Only its owner may read it. */
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { type Home, isDenied, ownedByAnother } from "./home.js"

export interface Credentials {
  /** The control plane's public address. */
  readonly url: string
  /** The workspace `default`. */
  readonly tenant_id: string
  readonly api_key: string
  /** A key of the whole installation; its callers name a workspace in each request. */
  readonly org_api_key: string
}

export class CredentialsLost extends KnownError {
  readonly code = "credentials_lost"
}

/** @returns  undefined when there is no such file yet */
export async function readCredentials(home: Home): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(home.credentials, "utf8")) as Credentials
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    const another = isDenied(error) ? await ownedByAnother(home, home.folder) : undefined
    if (another) throw another
    throw new CredentialsLost(
      `${home.credentials} cannot be read (${(error as Error).message}): remove it to get new keys`,
    )
  }
}

/** Writes atomically: a kill leaves no partial file. */
export async function writeCredentials(home: Home, credentials: Credentials): Promise<void> {
  const draft = `${home.credentials}.${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(draft, home.credentials)
}
