/** A registry in memory that speaks OCI distribution 1.1: blobs, mounts, uploads in chunks, manifests, both kinds of credentials. */
import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"

export interface FakeRegistryOptions {
  readonly auth?: "none" | "basic" | "token"
  /** Called with each request, as `PATCH /v2/…`; true breaks the connection off after the body was stored, and before the reply. */
  readonly breaks?: (request: string) => boolean
}

const user = { name: "robot", password: "wonderful" }
const token = "a-token"

export async function fakeRegistry({ auth = "none", breaks = () => false }: FakeRegistryOptions = {}) {
  const blobs = new Map<string, Map<string, Buffer>>()
  const manifests = new Map<string, Buffer>()
  const uploads = new Map<string, Buffer>()
  const requests: string[] = []
  const blobsOf = (repository: string) => {
    const found = blobs.get(repository) ?? new Map<string, Buffer>()
    blobs.set(repository, found)
    return found
  }
  const server = createServer((request, response) => {
    buffer(request).then(
      (body) => answer(request, response, body),
      () => response.destroy(),
    )
  })

  function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const url = new URL(request.url ?? "", origin())
    const asked = `${request.method} ${url.pathname}`
    requests.push(asked)
    const { status, headers = {}, content } = reply(request, url, body)
    if (breaks(asked)) return void response.destroy()
    response.writeHead(status, headers)
    response.end(request.method === "HEAD" ? undefined : content)
  }

  function reply({ method = "", headers }: IncomingMessage, url: URL, body: Buffer): Reply {
    const challenge = refused(url, headers.authorization)
    if (challenge) return { status: 401, headers: { "www-authenticate": challenge } }
    if (url.pathname === "/token") return { status: 200, content: JSON.stringify({ token }) }
    const [, repository = "", kind = "", rest = ""] =
      /^\/v2\/(.+?)\/(blobs\/uploads|blobs|manifests)\/(.*)$/.exec(url.pathname) ?? []
    if (kind === "blobs/uploads" && method === "POST") return begin(repository, url.searchParams)
    if (kind === "blobs/uploads") return upload({ method, repository, id: rest, url, body, headers })
    if (kind === "blobs") return stored(blobsOf(repository).get(rest), headers.range)
    if (kind === "manifests" && method === "PUT") {
      for (const version of [rest, digestOf(body)]) manifests.set(`${repository}:${version}`, body)
      return { status: 201 }
    }
    return stored(manifests.get(`${repository}:${rest}`), undefined)
  }

  function refused(url: URL, sent: string | undefined): string | undefined {
    const basic = `Basic ${Buffer.from(`${user.name}:${user.password}`).toString("base64")}`
    if (auth === "none") return undefined
    if (auth === "basic" || url.pathname === "/token") return sent === basic ? undefined : 'Basic realm="here"'
    const challenge = `Bearer realm="${origin()}/token",service="fake",scope="repository:x:pull,push"`
    return sent === `Bearer ${token}` ? undefined : challenge
  }

  function upload({ method, repository, id, url, body, headers }: UploadRequest): Reply {
    const sent = uploads.get(id)
    if (!sent) return { status: 404 }
    const state = (bytes: Buffer) => ({ location: url.pathname, range: `0-${Math.max(0, bytes.length - 1)}` })
    if (method === "GET") return { status: 204, headers: state(sent) }
    if (method === "PATCH" && headers["content-range"]?.split("-")[0] !== String(sent.length)) return { status: 416 }
    const now = Buffer.concat([sent, body])
    uploads.set(id, now)
    if (method === "PATCH") return { status: 202, headers: state(now) }
    const digest = url.searchParams.get("digest") ?? ""
    if (digest !== digestOf(now)) return { status: 400 }
    blobsOf(repository).set(digest, now)
    uploads.delete(id)
    return { status: 201 }
  }

  function begin(repository: string, query: URLSearchParams): Reply {
    const [digest, from] = [query.get("mount") ?? "", query.get("from") ?? ""]
    const mounted = blobs.get(from)?.get(digest)
    if (mounted) {
      blobsOf(repository).set(digest, mounted)
      return { status: 201 }
    }
    const id = randomUUID()
    uploads.set(id, Buffer.alloc(0))
    return { status: 202, headers: { location: `/v2/${repository}/blobs/uploads/${id}` } }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin: origin(),
    requests,
    blobsOf,
    forgetUploads: () => uploads.clear(),
    manifest: (name: string) => manifests.get(name),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
    [Symbol.dispose]() {
      this.close()
    },
  }
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly content?: Buffer | string
}

interface UploadRequest extends Pick<IncomingMessage, "headers"> {
  readonly method: string
  readonly repository: string
  readonly id: string
  readonly url: URL
  readonly body: Buffer
}

function stored(bytes: Buffer | undefined, range: string | undefined): Reply {
  if (!bytes) return { status: 404 }
  const [, from] = /^bytes=(\d+)-$/.exec(range ?? "") ?? []
  return from === undefined ? { status: 200, content: bytes } : { status: 206, content: bytes.subarray(Number(from)) }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`
