/**
 * Serves a web application that was built into files: `index.html`, and `assets/` whose names contain a hash of their content. The page
 * may run only its own scripts, and reach only the addresses that are given (content security policy).
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Context } from "hono"
import { ifCode, missing } from "../errors/if-code.js"
import { sendForEver, staticFiles } from "./static-files.js"

// Soon enough for who waits, and rare enough to be read.
const reloadSeconds = 5

export interface StaticSiteOptions {
  /** Absolute path of the folder. */
  readonly folder: string
  /** Where the page is served, with a slash at both ends. */
  readonly base: string
  /** Origins that the page may call besides its own. */
  readonly connectsTo?: readonly string[]
}

export interface StaticSite {
  /** Where the site is not built: 503 and a page that says so and reloads itself. */
  page(c: Context): Promise<Response>
  /** @returns  undefined when there is no such file */
  asset(c: Context, name: string): Promise<Response | undefined>
}

export function staticSite({ folder, base, connectsTo = [] }: StaticSiteOptions): StaticSite {
  const find = staticFiles(join(folder, "assets"))
  return {
    asset: async (c, name) => {
      const file = await find(name)
      return file && sendForEver(c, file)
    },
    page: async (c) => {
      const text = await readFile(join(folder, "index.html"), "utf8").catch(ifCode(missing))
      if (text === undefined) return notBuilt(c)
      // A new one for each reply: with it, packages that add style sheets to the page are allowed to, and nothing else is.
      const nonce = randomBytes(16).toString("base64")
      return c.html(placed(text, base, nonce), 200, {
        "cache-control": "no-cache",
        ...headersOfPage({ styles: `'nonce-${nonce}'`, connectsTo }),
      })
    },
  }
}

const notBuilt = (c: Context): Response =>
  c.html(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="${reloadSeconds}"><title>Superstep</title>
<h1>The console is not built yet</h1>
<p>The first <code>npm start</code> in a clone builds it within a minute or two, and this page reloads itself. Its terminal says if that fails.</p>
<p>Elsewhere, run <code>npm run build</code> in the repository of Superstep.</p></html>`,
    503,
    { "cache-control": "no-store", "retry-after": String(reloadSeconds), ...headersOfPage({}) },
  )

/** The page for its place. Addresses in it are relative to `<base>`. */
const placed = (text: string, base: string, nonce: string): string =>
  text.replace(/<base\b[^<>]*>/, `<base href="${base}" />\n    <meta property="csp-nonce" nonce="${nonce}" />`)

export interface PageHeaders {
  /** What may style the page besides files of its own origin, in words of a content security policy. */
  readonly styles?: string
  /** What its style attributes may come from; default as for other styles. */
  readonly styleAttributes?: string
  /** Origins that it may call besides its own. */
  readonly connectsTo?: readonly string[]
}

/** The headers of a page that runs only scripts of its own origin and cannot be framed. */
export const headersOfPage = ({
  styles,
  styleAttributes,
  connectsTo = [],
}: PageHeaders): Readonly<Record<string, string>> => ({
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    ["style-src 'self'", styles].filter((it) => it !== undefined).join(" "),
    ...(styleAttributes === undefined ? [] : [`style-src-attr ${styleAttributes}`]),
    "img-src 'self' data:",
    "font-src 'self'",
    ["connect-src 'self'", ...connectsTo.flatMap((origin) => [origin, origin.replace(/^http/, "ws")])].join(" "),
    "form-action 'self'",
    "base-uri 'self'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
})
