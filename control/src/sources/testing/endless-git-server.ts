/** A git host for tests whose repository never ends: it sends objects as long as the client reads. */
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer, type Socket } from "node:net"
import { deflateSync } from "node:zlib"

export interface EndlessGitServer extends AsyncDisposable {
  /** `git://127.0.0.1:port/a.git` */
  readonly url: string
  /** The only commit that it offers, as `main`. */
  readonly sha: string
}

/** The same, of which each list of refs never ends. */
export const endlessRefsServer = (): Promise<EndlessGitServer> => startServer(sendRefsForEver)

export const endlessGitServer = (): Promise<EndlessGitServer> => startServer(serve)

/** @see https://git-scm.com/docs/pack-protocol (version 0, which a server may answer with) */
async function startServer(answer: (socket: Socket, sha: string) => void): Promise<EndlessGitServer> {
  const sha = "0123456789abcdef0123456789abcdef01234567"
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    // The client is killed while it reads.
    socket.on("error", () => undefined)
    answer(socket, sha)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `git://127.0.0.1:${port}/a.git`,
    sha,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const flush = "0000"
const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, "0") + text

function serve(socket: Socket, sha: string): void {
  let seen = ""
  let state: "request" | "wants" | "haves" | "pack" = "request"
  socket.setEncoding("latin1")
  socket.on("data", (chunk) => {
    seen += chunk
    if (state === "request" && seen.includes("git-upload-pack")) {
      state = "wants"
      seen = ""
      socket.write(packet(`${sha} HEAD\0shallow\n`) + packet(`${sha} refs/heads/main\n`) + flush)
    }
    if (state === "wants" && seen.includes("want ") && seen.includes(flush)) {
      state = "haves"
      socket.write(packet(`shallow ${sha}\n`) + flush)
    }
    if (state === "haves" && seen.includes("done")) {
      state = "pack"
      socket.write(packet("NAK\n"))
      sendForEver(socket)
    }
  })
}

function sendRefsForEver(socket: Socket, sha: string): void {
  let count = 0
  const send = () => {
    for (let isFlowing = true; isFlowing && socket.writable; ) {
      const refs = Array.from({ length: 1000 }, () => packet(`${sha} refs/heads/b${count++}\n`))
      isFlowing = socket.write(refs.join(""))
    }
  }
  socket.once("data", () => {
    socket.write(packet(`${sha} HEAD\0shallow\n`))
    socket.on("drain", send)
    send()
  })
}

const size = 1 << 16
/** The header of a blob of that size, and its content. */
const blob = (): Buffer =>
  Buffer.concat([
    Buffer.from([0x80 | (3 << 4) | (size & 15), 0x80 | ((size >> 4) & 0x7f), size >> 11]),
    deflateSync(randomBytes(size), { level: 0 }),
  ])

function sendForEver(socket: Socket): void {
  const head = Buffer.alloc(12)
  head.write("PACK")
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(1_000_000, 8)
  socket.write(head)
  const object = blob()
  const send = () => {
    while (socket.writable && socket.write(object));
  }
  socket.on("drain", send)
  send()
}
