/**
 * Which platform a command speaks to, and as whom: `--url` and `SUPERSTEP_URL` with `SUPERSTEP_API_KEY`, else the
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
  /** Undefined when the key belongs to one workspace only. */
  readonly workspaceId: string | undefined
}

export interface ConnectionOptions {
  readonly url?: string
  readonly workspace?: string
  readonly home?: string
  readonly json?: boolean
}

export const connectionOptions = (): Option[] => [
  new Option("--url <address>", "control plane to speak to (default: that of the data folder)"),
  new Option("--workspace <id>", "workspace, where the key belongs to several"),
  homeOption(),
  jsonOption(),
]

export class NoConnection extends KnownError {
  readonly code = "no_connection"
}

/** @throws NoConnection  when nothing says where the platform is or with which key to call it */
export async function connect({ url, workspace, home }: ConnectionOptions, config: Config): Promise<Connection> {
  const place = homeAt(home ?? config.home)
  const kept = await readCredentials(place)
  const chosen = url ?? config.url
  // The kept key is for the kept address: it is not sent to another one.
  const isKept = chosen === undefined || withoutSlash(chosen) === (kept && withoutSlash(kept.url))
  const address = chosen ?? kept?.url
  const apiKey = config.apiKey?.reveal() ?? (isKept ? kept?.api_key : undefined)
  if (address === undefined) {
    const usual = urlOf(defaultPlace.host, defaultPlace.port)
    throw new NoConnection(unknownPlatform(place.credentials, (await isPlatform(usual)) ? usual : undefined))
  }
  if (apiKey === undefined) throw new NoConnection(`no API key for ${address}: put it into SUPERSTEP_API_KEY`)
  const keptWorkspace = isKept && config.apiKey === undefined ? kept?.tenant_id : undefined
  return { url: withoutSlash(address), apiKey, workspaceId: workspace ?? config.workspace ?? keptWorkspace }
}

/**
 * What to do when nothing in this folder says where the platform is. Pure.
 * @param found  where one answers on this machine; its key is not sent there unasked, since anybody may listen there
 */
export const unknownPlatform = (credentials: string, found: string | undefined): string =>
  found === undefined
    ? `no platform is known: there is no ${credentials}, and none answers on this machine. Name it with --url and SUPERSTEP_API_KEY, or start one with superstep up`
    : `no platform is known: there is no ${credentials}. One answers at ${found}: name its data folder with --home (.superstep where it was started), or its address with --url ${found} and its key in SUPERSTEP_API_KEY`

const patienceMs = 1000

/** Whether something at this address answers as a control plane does. */
async function isPlatform(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(patienceMs) })
    return ((await reply.json()) as { status?: unknown }).status === "ok"
  } catch {
    // Nobody is there, or somebody else is: both mean that it is not known.
    return false
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "")
