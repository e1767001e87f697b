/**
 * Serves a web application that was built into files: `index.html`, and `assets/` whose names contain a hash of their content. The page
 * may run only its own scripts, and reach only the addresses that are given (content security policy).
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, gzip, constants as zlib } from "node:zlib"
import type { Context } from "hono"
import { Unavailable } from "../errors/errors.js"
import { ifCode, missing } from "../errors/if-code.js"

export interface StaticSiteOptions {
  /** Absolute path of the folder. */
  readonly folder: string
  /** Where the page is served, with a slash at both ends. */
  readonly base: string
  /** Origins that the page may call besides its own. */
  readonly connectsTo?: readonly string[]
}

export interface StaticSite {
  /** @throws Unavailable  the site is not built */
  page(c: Context): Promise<Response>
  /** @returns  undefined when there is no such file */
  asset(c: Context, name: string): Promise<Response | undefined>
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
}

// No separator and no dot at the start: only files of this one folder have such names.
const assetName = /^\w[\w.-]*$/
const year = 31_536_000

interface Asset {
  readonly type: string
  readonly bytes: Buffer
  /** Compressed at the first request that accepts it. */
  readonly compressed: Map<Encoding, Promise<Buffer>>
}

export function staticSite({ folder, base, connectsTo = [] }: StaticSiteOptions): StaticSite {
  // Their content never changes under the same name, and the site is a few megabytes.
  const assets = new Map<string, Asset>()
  const find = async (name: string): Promise<Asset | undefined> => {
    const type = types[extname(name)]
    if (!assetName.test(name) || type === undefined) return undefined
    const known = assets.get(name)
    if (known) return known
    const bytes = await readFile(join(folder, "assets", name)).catch(ifCode(missing))
    if (!bytes) return undefined
    const asset = { type, bytes, compressed: new Map() }
    assets.set(name, asset)
    return asset
  }
  return {
    asset: async (c, name) => {
      const asset = await find(name)
      return asset && send(c, asset)
    },
    page: async (c) => {
      const text = await readFile(join(folder, "index.html"), "utf8").catch(ifCode(missing))
      if (text === undefined) {
        throw new Unavailable("the console is not built: run `npm run build` in the repository of Superstep", 60_000)
      }
      // A new one for each reply: with it, packages that add style sheets to the page are allowed to, and nothing else is.
      const nonce = randomBytes(16).toString("base64")
      return c.html(placed(text, base, nonce), 200, {
        "cache-control": "no-cache",
        "content-security-policy": policyOf(connectsTo, nonce),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      })
    },
  }
}

/** The page for its place. Addresses in it are relative to `<base>`. */
const placed = (text: string, base: string, nonce: string): string =>
  text.replace(/<base\b[^<>]*>/, `<base href="${base}" />\n    <meta property="csp-nonce" nonce="${nonce}" />`)

const policyOf = (connectsTo: readonly string[], nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    ["connect-src 'self'", ...connectsTo.flatMap((origin) => [origin, origin.replace(/^http/, "ws")])].join(" "),
    "form-action 'self'",
    "base-uri 'self'",
    "frame-ancestors 'none'",
  ].join("; ")

type Encoding = "br" | "gzip"

async function send(c: Context, asset: Asset): Promise<Response> {
  const headers: Record<string, string> = {
    "content-type": asset.type,
    "cache-control": `public, max-age=${year}, immutable`,
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
  }
  const encoding = encodingFor(c.req.header("accept-encoding") ?? "", asset)
  const bytes = encoding ? await compressed(asset, encoding) : asset.bytes
  if (encoding) headers["content-encoding"] = encoding
  return c.body(new Uint8Array(bytes), 200, headers)
}

// Below this size a file fits into one packet anyway.
const leastBytes = 1024

function encodingFor(accepted: string, { type, bytes }: Asset): Encoding | undefined {
  if (bytes.length < leastBytes || !/^text\/|json|svg/.test(type)) return undefined
  const accepts = (name: Encoding) =>
    new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\s*(?:,|$))`, "i").test(accepted)
  return accepts("br") ? "br" : accepts("gzip") ? "gzip" : undefined
}

// Quality 5 takes some milliseconds for the largest file; 11 takes seconds and saves a tenth more.
const brotli = (bytes: Buffer): Promise<Buffer> =>
  promisify(brotliCompress)(bytes, {
    params: { [zlib.BROTLI_PARAM_QUALITY]: 5, [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  } as never) as Promise<Buffer>

function compressed({ bytes, compressed: made }: Asset, encoding: Encoding): Promise<Buffer> {
  const known = made.get(encoding)
  if (known) return known
  const making = encoding === "br" ? brotli(bytes) : (promisify(gzip)(bytes) as Promise<Buffer>)
  made.set(encoding, making)
  return making
}
