import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { askedWaitIn } from "./http-trace.js"
import { SourceFailed } from "./port.js"
import { testGit } from "./testing/git-source.js"

const { signal } = new AbortController()
const keysFolder = join(temporaryFolder(), "keys")
const source = testGit({ protocols: ["http"], keysFolder })

test("a host that asks to be left alone is left alone for that long, while refs are listed and while a commit is fetched", async () => {
  let answer: { status: number; retryAfter?: string } = { status: 429, retryAfter: "120" }
  await using server = await portServer((_, response) => {
    const { status, retryAfter } = answer
    response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter }).end("slow down")
  })
  const repoUrl = `${server.origin}/a.git`
  const token = { kind: "token", host: server.host, username: "ada", token: new Secret("t0ken") } as const
  const failureOf = async (work: Promise<unknown>) => {
    const [result] = await Promise.allSettled([work])
    assert.ok(result.status === "rejected" && result.reason instanceof SourceFailed)
    return [result.reason.isTransient, result.reason.askedMs]
  }
  const resolving = () => failureOf(source.resolve({ repoUrl, ref: "main", credentials: token }, signal))

  assert.deepEqual(await resolving(), [true, 120_000])
  const folder = join(temporaryFolder(), "tree")
  assert.deepEqual(await failureOf(source.fetch({ repoUrl, ref: "main" }, "0".repeat(40), folder, signal)), [
    true,
    120_000,
  ])
  answer = { status: 503, retryAfter: "999999" }
  assert.deepEqual(await resolving(), [true, 3_600_000], "an hour at most")
  answer = { status: 429 }
  assert.deepEqual(await resolving(), [true, 0])
  assert.deepEqual(readdirSync(keysFolder), [], "no trace is left")
})

test("of several answers the last one counts, by HTTP/1.1 and by HTTP/2", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  const trace = (...headers: string[]) =>
    headers.map((line) => `19:21:09.39 http.c:684   <= Recv header: ${line}\r`).join("\n")

  assert.equal(
    askedWaitIn(trace("HTTP/1.1 301 Moved", "Retry-After: 9", "HTTP/2 429", "retry-after: 5", ""), now),
    5000,
  )
  assert.equal(askedWaitIn(trace("HTTP/1.1 429 Busy", "Retry-After: 9", "HTTP/1.1 404 Not Found"), now), 0)
  assert.equal(askedWaitIn(trace("HTTP/1.1 503 Away", "Retry-After: Thu, 01 Jan 2026 00:01:00 GMT"), now), 60_000)
  assert.equal(askedWaitIn("=> Send header: Retry-After: 9", now), 0)
})
