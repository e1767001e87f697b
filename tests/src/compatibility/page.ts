/** docs/compatibility.md: what each client method asks for, each route, and what is missing. Pure. */
import { type Called, routeOf } from "./calls.js"

export interface Findings {
  readonly called: readonly Called[]
  /** Methods that are not served, with the reason. */
  readonly gaps: Readonly<Record<string, string>>
}

/** The table of one client's methods: the routes of its requests, and whether it does what it promises. */
export function clientTable({ called, gaps }: Findings, routes: readonly string[]): string {
  const rows = called.map(({ client, requests, failure }) => {
    const used = [
      ...new Set(requests.map((request) => routeOf(request, routes) ?? `${request.method} ${request.path}`)),
    ]
    return `| \`${client}\` | ${used.map((route) => `\`${route}\``).join("<br>")} | ${failure === undefined ? "works" : `**fails**: ${failure}`} |`
  })
  const missing = Object.entries(gaps).map(([client, reason]) => `| \`${client}\` | – | not supported: ${reason} |`)
  return ["| method | requests | |", "|---|---|---|", ...rows, ...missing].join("\n")
}

/** Every route of the server's own document, and which of the given methods use it. */
export function routeTable(routes: readonly string[], called: readonly Called[]): string {
  const users = new Map<string, Set<string>>()
  for (const { client, requests } of called) {
    for (const request of requests) {
      const route = routeOf(request, routes)
      if (route !== undefined) users.set(route, (users.get(route) ?? new Set()).add(client))
    }
  }
  const rows = routes.map((route) => {
    const methods = [...(users.get(route) ?? [])].map((client) => `\`${client}\``)
    return `| \`${route}\` | ${methods.length > 0 ? methods.join(", ") : "no method; plain HTTP"} |`
  })
  return ["| route | client methods |", "|---|---|", ...rows].join("\n")
}

/** A section of the page: between its heading and the next one of the same rank. */
export function replaceSection(page: string, title: string, body: string): string {
  const heading = `## ${title}\n`
  const begin = page.indexOf(heading)
  if (begin < 0) return `${page.trimEnd()}\n\n${heading}\n${body}\n`
  const next = page.indexOf("\n## ", begin + heading.length)
  const rest = next < 0 ? "" : page.slice(next + 1)
  return `${page.slice(0, begin)}${heading}\n${body}\n${rest === "" ? "" : `\n${rest}`}`
}
