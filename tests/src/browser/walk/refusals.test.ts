import assert from "node:assert/strict"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { noChromium, openConsole } from "../console-page.js"
import { isTold, type Refusal, textsOf, watchNotes, watchRefusals } from "./refusals.js"

const refusal = (failedAtMs: number, asked = "POST /v2/api-keys"): Refusal => ({
  at: "/settings",
  asked,
  status: 409,
  texts: ["the name is taken", "name_taken"],
  failedAtMs,
  isAtArrival: false,
})

test("a refusal is told by a note that has its text or its code, and that appeared after it", () => {
  const failed = refusal(1000)
  const isToldBy = (text: string, sinceMs: number) => isTold(failed, [failed], [{ text, sinceMs }])

  assert.equal(isToldBy("Sorry: the name is taken Choose another one", 1004), true)
  assert.equal(isToldBy("It cannot be done. name_taken", 1004), true)
  assert.equal(isToldBy("No keys yet", 1004), false)
  assert.equal(isToldBy("the name is taken", 990), false)
  assert.equal(isTold(failed, [failed], []), false)
})

test("the note about the first of several equal refusals counts for all", () => {
  const [first, second] = [refusal(1000), refusal(9000, "GET /v2/api-keys")]

  assert.equal(isTold(second, [first, second], [{ text: "the name is taken", sinceMs: 1010 }]), true)
  assert.equal(isTold(second, [second], [{ text: "the name is taken", sinceMs: 1010 }]), false)
})

test("what a note must have is in the reply", () => {
  const invalid = `{"detail":[{"loc":["body","name"],"msg":"expected a text"}],"code":"invalid"}`

  assert.deepEqual(textsOf(422, invalid), ["expected a text", "invalid"])
  assert.deepEqual(textsOf(503, `{"detail":"it is\\n paused","code":"paused"}`), ["it is paused", "paused"])
  assert.deepEqual(textsOf(502, "bad gateway"), ["bad gateway"])
  assert.deepEqual(textsOf(500, ""), ["The server answered with 500."])
})

test("a change without a reply is told once", { skip: noChromium }, async () => {
  using server = await portServer(({ method }, response) => method === "GET" && response.end("page"))
  await using browser = await openConsole(`${server.origin}/`)
  const page = await browser.open("")
  const refusals = watchRefusals(page, 200)
  await page.evaluate(`void fetch("/change", { method: "POST" })`)

  assert.deepEqual(await refusals.untold(300), ["POST /change has had no reply for 0.2 seconds"])
  assert.deepEqual(await refusals.untold(300), [])
})

test("a change that is refused just after an arrival is told; what is read then only when it is refused again", {
  skip: noChromium,
}, async () => {
  using server = await portServer(({ url }, response) => {
    if (url === "/") return response.setHeader("content-type", "text/html").end("<script>fetch('/read')</script>")
    return response.writeHead(url === "/favicon.ico" ? 204 : 409).end(`{"detail":"${url} is refused"}`)
  })
  await using browser = await openConsole(`${server.origin}/`)
  const page = await browser.open("")
  await page.addInitScript({ content: watchNotes })
  const refusals = watchRefusals(page)
  await page.reload()
  await page.evaluate(`void fetch("/change", { method: "DELETE" })`)

  const [first, second] = [await refusals.untold(300), await refusals.untold(300)]

  assert.match(
    first.join(),
    /^DELETE \/change was answered with 409 [^,]*, and the page does not say so; it says: \[\]$/,
  )
  assert.match(second.join(), /^GET \/read was answered with 409 [^,]*, and the page does not say so; it says: \[\]$/)
})
