/**
 * Where an HTTP server of ours is reached, as one text: `unix:/run/u1.sock`, or `http://10.0.0.7:8000`. Whoever passes an address
 * on need not know which of the two it is.
 */
export type Address = `unix:/${string}` | `http://${string}`

const unixPrefix = "unix:"

export function isAddress(text: string): text is Address {
  if (text.startsWith(unixPrefix)) return text.startsWith("/", unixPrefix.length)
  return /^http:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/i.test(text)
}

/** @param path  absolute */
export const unixAddress = (path: string): Address => `${unixPrefix}${path}` as Address

/** @returns  the path of a Unix socket; undefined for a host with a port */
export const unixPathOf = (address: Address): string | undefined =>
  address.startsWith(unixPrefix) ? address.slice(unixPrefix.length) : undefined

/** Options of `node:http` for a request to the address. */
export function connectOptions(address: Address): { socketPath: string } | { host: string; port: string } {
  const socketPath = unixPathOf(address)
  if (socketPath !== undefined) return { socketPath }
  const { hostname, port } = new URL(address)
  // Node takes an IPv6 address without brackets.
  return { host: hostname.replace(/^\[|\]$/g, ""), port }
}
