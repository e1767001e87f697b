import assert from "node:assert/strict"
import { buffer } from "node:stream/consumers"
import test from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { registryAt } from "./client.js"
import { RegistryFailed } from "./failures.js"
import { readBlob } from "./pull.js"

const content = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 251))

/** A registry with one blob, whose answers break off after so many bytes. */
async function breakingRegistry(breaksAfter: readonly number[]) {
  const starts: number[] = []
  const server = await portServer((request, response) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0)
    const bytes = breaksAfter[starts.length]
    starts.push(from)
    const rest = content.subarray(from)
    response.writeHead(from > 0 ? 206 : 200, { "content-length": rest.length })
    if (bytes === undefined) return void response.end(rest)
    response.write(rest.subarray(0, bytes), () => response.destroy())
  })
  const registry = registryAt({ origin: server.origin, delaysMs: [1, 1] })
  return { registry, starts, [Symbol.dispose]: server[Symbol.dispose] }
}

const read = (registry: Parameters<typeof readBlob>[0], from = 0): Promise<Buffer> =>
  buffer(readBlob(registry, "agents", "sha256:1", from))

test("reading a layer goes on where it broke off, as long as something arrives", async () => {
  using server = await breakingRegistry([30_000, 20_000, 20_000, 10_000])

  assert.ok((await read(server.registry, 5)).equals(content.subarray(5)))

  assert.equal(server.starts.length, 5)
  assert.ok(server.starts.every((start, index) => index === 0 || start > (server.starts[index - 1] ?? 0)))
})

test("a registry that breaks off again and again without a byte fails in words", async () => {
  using server = await breakingRegistry([30_000, 0, 0, 0, 0])

  await assert.rejects(read(server.registry), (error: Error) => {
    assert.ok(error instanceof RegistryFailed)
    assert.match(error.message, /breaks off again and again/)
    return true
  })
})
