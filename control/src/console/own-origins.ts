/** The origins at which the console is served, and the check that a request comes from one of them. Pure. */
import { Forbidden } from "@superstep/toolkit/errors/errors"
import type { AskedPage } from "../http/asked-page.js"

export interface Place {
  /** The public address of the API, if one is set. */
  readonly publicUrl?: string | undefined
  readonly host: string
  readonly port: number
  readonly hasTls: boolean
  /** Name and addresses of this machine, under which it is reachable when `host` is every address. */
  readonly machineNames: readonly string[]
}

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"]
const everyAddress = new Set(["0.0.0.0", "::"])

/**
 * Returns the origins in the form that browsers send, without repetition; the public one comes first. Names of this machine count only
 * when other machines can reach it, and plain HTTP beside HTTPS only for this machine (`secureFront`).
 */
export function ownOrigins({ publicUrl, host, port, hasTls, machineNames }: Place): string[] {
  const named = everyAddress.has(host) ? machineNames : loopbackNames.includes(host) ? [] : [host]
  const scheme = hasTls ? "https" : "http"
  const origins = [
    ...(publicUrl === undefined ? [] : [publicUrl]),
    ...named.map((name) => `${scheme}://${bracketed(name)}:${port}`),
    ...loopbackNames.flatMap((name) => [`${scheme}://${name}:${port}`, ...(hasTls ? [`http://${name}:${port}`] : [])]),
  ]
  // The name of a machine may be one that no address can contain.
  return [...new Set(origins.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).origin))]
}

const bracketed = (name: string): string => (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name)

/**
 * Accepts only requests that a page of the console may have sent (C5). A request without an `Origin` is accepted only where it reads.
 * @throws Forbidden  `foreign_host`: a page whose name was made to resolve to this machine (DNS rebinding) could send it;
 *                    `cross_site`: a page of another origin sends it
 */
export function requireOwnPage(origins: readonly string[], asked: AskedPage): void {
  const host = asked.host?.toLowerCase()
  if (!origins.some((origin) => new URL(origin).host === host)) {
    throw new Forbidden(
      `the console is not served at "${asked.host ?? ""}": use ${origins[0] ?? "an API key"}, or set SUPERSTEP_PUBLIC_URL to the address that people use`,
      "foreign_host",
    )
  }
  const isRead = asked.method === "GET" || asked.method === "HEAD"
  if (isRead ? isOfOtherSite(asked) : asked.origin === undefined) throw crossSite()
  requireOwnOrigin(origins, asked.origin)
}

/** @throws Forbidden  `cross_site`: the request names another origin than the console's */
export function requireOwnOrigin(origins: readonly string[], origin: string | undefined): void {
  if (origin !== undefined && !origins.includes(origin)) throw crossSite()
}

/** A page of another port counts as the same site, for which `SameSite=Strict` sends cookies. */
const isOfOtherSite = ({ fetchSite }: AskedPage): boolean =>
  fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none"

const crossSite = () =>
  new Forbidden(
    "with the session of the console, requests must come from its own pages: send an API key instead",
    "cross_site",
  )
