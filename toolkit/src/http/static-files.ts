/** Files that were built into one folder, compressed as the browser accepts it. No request reaches a file outside of the folder. */
import { createHash } from "node:crypto"
import { readFile, stat } from "node:fs/promises"
import { extname, join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, gzip, constants as zlib } from "node:zlib"
import type { Context } from "hono"
import { ifCode, missing } from "../errors/if-code.js"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
}

// No part is empty or begins with a dot: only files of the folder have such names.
const safeName = /^(?:[\w@][\w.@-]*\/)*[\w@][\w.@-]*$/
const yearSeconds = 31_536_000

export interface StaticFile {
  readonly type: string
  readonly bytes: Buffer
  /** Of the content, as a header has it. */
  readonly etag: string
  readonly version: string
  /** Compressed at the first request that accepts it. */
  readonly compressed: Map<Encoding, Promise<Buffer>>
}

/**
 * @param folder  absolute path. Its files are kept in memory, which is a few megabytes
 * @returns       a function that finds a file by its path in the folder, as a request has it: nothing is decoded. Undefined when there is none
 */
export function staticFiles(folder: string): (name: string) => Promise<StaticFile | undefined> {
  const files = new Map<string, StaticFile>()
  return async (name) => {
    const type = types[extname(name)]
    if (!safeName.test(name) || type === undefined) return undefined
    const path = join(folder, name)
    const found = await stat(path).catch(ifCode(missing))
    if (!found?.isFile()) return undefined
    const version = `${found.mtimeMs} ${found.size}`
    const known = files.get(name)
    if (known?.version === version) return known
    const bytes = await readFile(path).catch(ifCode(missing))
    if (!bytes) return undefined
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 27)}"`
    const file = { type, bytes, etag, version, compressed: new Map() }
    files.set(name, file)
    return file
  }
}

/** Sends a file whose name contains a hash of its content: it is the same for ever. */
export const sendForEver = (c: Context, file: StaticFile): Promise<Response> =>
  send(c, file, { "cache-control": `public, max-age=${yearSeconds}, immutable` })

/** Sends a file that changes under the same name: a browser asks each time whether it has. */
export const sendIfChanged = async (
  c: Context,
  file: StaticFile,
  { status = 200, headers = {} }: { status?: 200 | 404; headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> => {
  const known = { ...headers, "cache-control": "no-cache", etag: file.etag }
  // A proxy that compresses the reply marks the tag as weak.
  if (c.req.header("if-none-match")?.replace("W/", "") === file.etag) return c.body(null, 304, known)
  return await send(c, file, known, status)
}

async function send(c: Context, file: StaticFile, others: Record<string, string>, status: 200 | 404 = 200) {
  const headers = { ...others, "content-type": file.type, "x-content-type-options": "nosniff", vary: "accept-encoding" }
  const encoding = encodingFor(c.req.header("accept-encoding") ?? "", file)
  const bytes = encoding ? await compressed(file, encoding) : file.bytes
  return c.body(new Uint8Array(bytes), status, encoding ? { ...headers, "content-encoding": encoding } : headers)
}

type Encoding = "br" | "gzip"

// Below this size a file fits into one packet anyway.
const leastBytes = 1024

function encodingFor(accepted: string, { type, bytes }: StaticFile): Encoding | undefined {
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

function compressed({ bytes, compressed: made }: StaticFile, encoding: Encoding): Promise<Buffer> {
  const known = made.get(encoding)
  if (known) return known
  const making = encoding === "br" ? brotli(bytes) : (promisify(gzip)(bytes) as Promise<Buffer>)
  made.set(encoding, making)
  return making
}
