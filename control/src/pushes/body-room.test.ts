/** Bodies of unverified deliveries: which are read at all, and how many at once. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { Unavailable } from "@superstep/toolkit/errors/errors"
import { shared, startApi } from "../testing/api.js"
import { createBodyRoom, maxDeliveryBytes } from "./body-room.js"
import { signedPush } from "./testing/deliveries.js"

const secret = "the installation's secret"
const api = shared(() => startApi({ webhookSecrets: [new Secret(secret)] }))

const url = (path: string) => `http://control.test${path}`
const github = "/v1/integrations/github/webhook"
const signature = `sha256=${"a".repeat(64)}`

/** A request whose body continues until `end` is called. */
function slow(path: string, headers: Record<string, string>) {
  let isRead = false
  let end = (): void => undefined
  const stream = new ReadableStream(
    {
      pull: (controller) => {
        isRead = true
        return new Promise<void>((resolve) => {
          end = () => {
            controller.close()
            resolve()
          }
        })
      },
    },
    { highWaterMark: 0 },
  )
  const request = new Request(url(path), { method: "POST", headers, body: stream, duplex: "half" } as RequestInit)
  return { request, isRead: () => isRead, end: () => end() }
}

function endless(headers: Record<string, string> = {}): Request {
  const stream = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(256 * 1024)) })
  return new Request(url(github), { method: "POST", headers, body: stream, duplex: "half" } as RequestInit)
}

const untilRead = async ({ isRead }: { isRead: () => boolean }) => {
  while (!isRead()) await new Promise((resolve) => setImmediate(resolve))
}

test("a delivery that no secret can have signed is refused before its body is read (H1)", async () => {
  const elsewhere = `${github}?integration_id=0198d6a5-0000-7000-8000-000000000000`
  const cases: [path: string, headers: Record<string, string>, status: number][] = [
    [github, {}, 401],
    [github, { "x-hub-signature-256": "sha256=short" }, 401],
    [github, { "x-hub-signature": signature }, 401],
    [elsewhere, { "x-hub-signature-256": signature }, 401],
    ["/api-host/v1/integrations/gitlab/webhook", { "x-gitlab-token": "a guess" }, 401],
    [github, { "x-hub-signature-256": signature, "content-length": String(maxDeliveryBytes + 1) }, 413],
  ]
  for (const [path, headers, status] of cases) {
    const asked = slow(path, headers)

    const reply = await api.fetch(asked.request)

    assert.deepEqual([reply.status, asked.isRead()], [status, false], JSON.stringify(headers))
  }
})

test("the number of bodies under way is limited, and large ones do not block ordinary ones (H1)", async () => {
  const large = () => slow(github, { "x-hub-signature-256": signature, "content-length": String(2 * 1024 * 1024) })
  const ordinary = () => slow(github, { "x-hub-signature-256": signature, "content-length": String(1024 * 1024) })
  const send = async (asked: ReturnType<typeof large>) => {
    const reply = api.fetch(asked.request)
    await untilRead(asked)
    return { reply, end: asked.end }
  }
  const pushed = () => {
    const { path, headers, text } = signedPush("github", secret)
    return api.call("POST", path, { text, headers })
  }

  const some = [await send(large()), await send(large())]
  const third = await api.fetch(large().request)
  assert.deepEqual([third.status, third.headers.get("retry-after")], [503, "5"])
  const growing = endless({ "x-hub-signature-256": signature })
  assert.equal((await api.fetch(growing)).status, 503, "one that turns out to be large")
  assert.equal((await pushed()).status, 200)
  for (let n = 0; n < 16; n++) some.push(await send(ordinary()))
  assert.equal((await api.fetch(ordinary().request)).status, 503)

  for (const { end } of some) end()
  for (const { reply } of some) assert.equal((await reply).status, 401)
  assert.equal((await pushed()).status, 200)
  const again = await send(large())
  again.end()
  assert.equal((await again.reply).status, 401)
})

test("an incomplete or too slow body is refused and frees its place", async () => {
  const room = createBodyRoom({ bodyMs: 1 })
  for (let n = 0; n < 3; n++) {
    await assert.rejects(room.read(slow(github, {}).request), (error: Error) => {
      assert.ok(error instanceof Unavailable)
      assert.match(error.message, /did not arrive/)
      return true
    })
  }

  await assert.rejects(createBodyRoom().read(endless()), /larger than 26214400 bytes/)
})
