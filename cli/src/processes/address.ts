/** Addresses for a client on this machine. */

// "All addresses" can be listened on, but not be called.
const everywhere = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
])

export function urlOf(host: string, port: number, scheme: "http" | "https" = "http"): string {
  const name = everywhere.get(host) ?? (host.includes(":") ? `[${host}]` : host)
  return `${scheme}://${name}:${port}`
}
