/** The HTML fragment that loads one component (agent-server-api §15, protocol-v2 §2.7). Pure. */
import { z } from "zod"

/** A component's name is inserted in a script, so it is restricted to characters of JavaScript names, `.` and `-`. */
export const componentName = z.string().regex(/^[\w$.-]{1,200}$/, "expected the name of a component")

/** The URL under which a browser reaches the server. Behind the edge it is taken from forwarded headers. */
export interface Address {
  readonly host: string
  /** Undefined if unknown. Then the page's own scheme is used, except that loopback hosts use http. */
  readonly protocol: string | undefined
  /** Such as `/d/chat`. */
  readonly prefix: string
}

const loopback = /^(localhost|127\.0\.0\.1)(:\d+)?$/

export function renderComponent(agent: string, name: string, files: Iterable<string>, address: Address): string {
  const scheme = address.protocol ? `${address.protocol}:` : loopback.test(address.host) ? "http:" : ""
  const base = `${scheme}//${address.host}${address.prefix}/ui/${encodeURIComponent(agent)}`
  const global = `__LGUI_${agent.replaceAll(/[^a-zA-Z0-9]/g, "_")}`
  return [...files]
    .map((file) => {
      const url = escapeHtml(`${base}/${encodeURIComponent(file)}`)
      if (file.endsWith(".css")) return `<link rel="stylesheet" href="${url}" />`
      if (!file.endsWith(".js")) return ""
      return `<script src="${url}" onload='${global}.render("${name}", "{{shadowRootId}}")'></script>`
    })
    .filter((line) => line !== "")
    .join("\n")
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  '"': "&quot;",
  "'": "&#39;",
  "<": "&lt;",
  ">": "&gt;",
}
const escapeHtml = (text: string): string => text.replaceAll(/[&"'<>]/g, (sign) => entities[sign] ?? sign)

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  map: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  woff2: "font/woff2",
}

/** Content type of a bundle's file. */
export const typeOf = (file: string): string =>
  types[file.slice(file.lastIndexOf(".") + 1)] ?? "application/octet-stream"
