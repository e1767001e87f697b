/** A git host for tests: git's own `http-backend` behind HTTP with basic authentication. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join, relative } from "node:path"

export interface HttpGitServer extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string
  /** Argument lists of all processes of the machine, recorded each time git waited for an answer. */
  readonly seenArguments: string[]
  urlOf(repositoryFolder: string): string
}

/** @param authorization  the accepted header; to any other the answer repeats what was sent, as a careless host does */
export async function httpGitServer(folder: string, authorization: string): Promise<HttpGitServer> {
  const backend = join(execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim(), "git-http-backend")
  const seenArguments: string[] = []
  const server = createServer((request, response) => {
    seenArguments.push(allArguments())
    if (request.headers.authorization === authorization) return runBackend(backend, folder, request, response)
    const words = `no access with ${request.headers.authorization}\n`
    response.writeHead(403, { "content-type": "text/plain" }).end(words)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    host,
    seenArguments,
    urlOf: (repository) => `http://${host}/${relative(folder, repository)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const allArguments = (): string =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      } catch {
        // It ended between listing and reading.
        return ""
      }
    })
    .join("\n")

function runBackend(backend: string, folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost")
  const child = spawn(backend, [], {
    env: {
      PATH: process.env.PATH ?? "",
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
      HTTP_GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
    stdio: ["pipe", "pipe", "inherit"],
  })
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  let isBody = false
  child.stdout.on("data", (chunk: Buffer) => {
    if (isBody) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf("\r\n\r\n")
    if (end < 0) return
    isBody = true
    const fields = head
      .subarray(0, end)
      .toString()
      .split("\r\n")
      .map((line) => line.split(": ") as [string, string])
    const { Status: status = "200", ...headers } = Object.fromEntries(fields)
    response.writeHead(Number.parseInt(status, 10), headers).write(head.subarray(end + 4))
  })
  child.stdout.on("end", () => response.end())
}
