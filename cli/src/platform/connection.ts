/**
 * The platform that a command calls, and the key for it: `--url` and `SUPERSTEP_URL` with `SUPERSTEP_API_KEY`, else the
 * `credentials.json` of the data folder, else the only installation of this user that runs on this machine. A key is never an option, since every user of the machine can read those.
 */

import { KnownError } from "@superstep/toolkit/errors/errors"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { Option } from "commander"
import type { Config } from "../command-line/config.js"
import { homeOption, jsonOption } from "../command-line/options.js"
import { readCredentials } from "../home/credentials.js"
import { homeAt } from "../home/home.js"
import { locateHome } from "../home/installation.js"
import { urlOf } from "../processes/address.js"
import { defaultPlace } from "../processes/default-place.js"

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string
  readonly apiKey: string
  /** Undefined when the key belongs to only one workspace. */
  readonly workspaceId: string | undefined
  /** The data folder of a running installation, where the caller has named none. */
  readonly foundIn?: string
}

export interface ConnectionOptions {
  readonly url?: string
  readonly workspace?: string
  readonly home?: string
  readonly json?: boolean
}

export const connectionOptions = (): Option[] => [
  new Option("--url <address>", "address of the control plane (default: that of the data folder)"),
  new Option("--workspace <id>", "workspace, for a key that belongs to several"),
  homeOption(),
  jsonOption(),
]

export class NoConnection extends KnownError {
  readonly code = "no_connection"
}

/** @throws NoConnection  when the address or the key of the platform is unknown */
export const connect = (options: ConnectionOptions, config: Config): Promise<Connection> =>
  connectWith("api_key", options, config)

/** As `connect`, with the data folder's key of the installation. */
export const connectAsOperator = (options: ConnectionOptions, config: Config): Promise<Connection> =>
  connectWith("org_api_key", options, config)

async function connectWith(
  keptKey: "api_key" | "org_api_key",
  { url, workspace, home }: ConnectionOptions,
  config: Config,
): Promise<Connection> {
  const chosen = url ?? config.url
  const own = { home: homeAt(home ?? config.home), isFound: false, running: [] }
  const { home: place, isFound, running } = chosen === undefined ? await locateHome(home, config) : own
  const kept = await readCredentials(place)
  // The stored key belongs to the stored address: it is not sent to another one.
  const isKept = chosen === undefined || withoutSlash(chosen) === (kept && withoutSlash(kept.url))
  const address = chosen ?? kept?.url
  const apiKey = config.apiKey?.reveal() ?? (isKept ? kept?.[keptKey] : undefined)
  if (address === undefined) {
    const usual = urlOf(defaultPlace.host, defaultPlace.port)
    const others = running.map(({ folder, credentials }) => ({ folder, url: credentials.url }))
    const isUsual = others.length === 0 && (await isPlatform(usual))
    throw new NoConnection(unknownPlatform(place.credentials, isUsual ? [{ url: usual }] : others))
  }
  if (apiKey === undefined) throw new NoConnection(`no API key for ${address}: set it in SUPERSTEP_API_KEY`)
  const keptWorkspace = isKept && config.apiKey === undefined ? kept?.tenant_id : undefined
  return {
    url: withoutSlash(address),
    apiKey,
    workspaceId: workspace ?? config.workspace ?? keptWorkspace,
    ...(isFound && { foundIn: place.folder }),
  }
}

interface FoundPlatform {
  readonly url: string
  /** Its data folder; unknown for a platform of another user. */
  readonly folder?: string
}

/**
 * Advice when it is not known which platform is meant. Pure.
 * @param found  platforms on this machine; the key of one whose folder is unknown is not sent there unasked, since any program may listen there
 */
export function unknownPlatform(credentials: string, found: readonly FoundPlatform[]): string {
  const start = `no platform found: ${credentials} does not exist`
  const [first] = found
  if (first === undefined)
    return `${start}, and none answers on this machine. Give its data folder with --home or SUPERSTEP_HOME, or its address with --url and its key in SUPERSTEP_API_KEY, or start one with superstep up`
  if (first.folder === undefined)
    return `${start}. One answers at ${first.url}: give its data folder with --home or SUPERSTEP_HOME (.superstep where it was started), or its address with --url ${first.url} and its key in SUPERSTEP_API_KEY`
  const list = found.map(({ url, folder }) => `--home ${folder} (${url})`).join(", ")
  return `${start}. Of this user, ${found.length === 1 ? "one runs" : `${found.length} run`} on this machine: choose with ${list}, or with SUPERSTEP_HOME`
}

const patienceMs = 1000

/** Whether a control plane answers at this address. */
async function isPlatform(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(patienceMs) })
    return ((await reply.json()) as { status?: unknown }).status === "ok"
  } catch {
    // No program listens there, or another one: both count as unknown.
    return false
  }
}

const withoutSlash = (url: string): string => withoutEnd(url, "/")
