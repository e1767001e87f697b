/**
 * The platform that a command calls, and the key for it: `--url` and `SUPERSTEP_URL` with `SUPERSTEP_API_KEY`, else the
 * `credentials.json` of the data folder. A key is never an option, since every user of the machine can read those.
 */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { Option } from "commander"
import type { Config } from "../config.js"
import { readCredentials } from "../home/credentials.js"
import { homeAt } from "../home/home.js"
import { homeOption, jsonOption } from "../options.js"
import { urlOf } from "../processes/address.js"
import { defaultPlace } from "../processes/default-place.js"

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string
  readonly apiKey: string
  /** Undefined when the key belongs to only one workspace. */
  readonly workspaceId: string | undefined
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
  const place = homeAt(home ?? config.home)
  const kept = await readCredentials(place)
  const chosen = url ?? config.url
  // The stored key belongs to the stored address: it is not sent to another one.
  const isKept = chosen === undefined || withoutSlash(chosen) === (kept && withoutSlash(kept.url))
  const address = chosen ?? kept?.url
  const apiKey = config.apiKey?.reveal() ?? (isKept ? kept?.[keptKey] : undefined)
  if (address === undefined) {
    const usual = urlOf(defaultPlace.host, defaultPlace.port)
    throw new NoConnection(unknownPlatform(place.credentials, (await isPlatform(usual)) ? usual : undefined))
  }
  if (apiKey === undefined) throw new NoConnection(`no API key for ${address}: set it in SUPERSTEP_API_KEY`)
  const keptWorkspace = isKept && config.apiKey === undefined ? kept?.tenant_id : undefined
  return { url: withoutSlash(address), apiKey, workspaceId: workspace ?? config.workspace ?? keptWorkspace }
}

/**
 * Advice when this folder does not say where the platform is. Pure.
 * @param found  address of a platform on this machine; its key is not sent there unasked, since anybody may listen there
 */
export const unknownPlatform = (credentials: string, found: string | undefined): string =>
  found === undefined
    ? `no platform found: ${credentials} does not exist, and none answers on this machine. Give its address with --url and its key in SUPERSTEP_API_KEY, or start one with superstep up`
    : `no platform found: ${credentials} does not exist. One answers at ${found}: give its data folder with --home (.superstep where it was started), or its address with --url ${found} and its key in SUPERSTEP_API_KEY`

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

const withoutSlash = (url: string): string => url.replace(/\/+$/, "")
