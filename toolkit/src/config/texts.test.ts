/** What the texts of settings may be, and what is said of others. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "zod"
import { flag, json, port, safeUrl, seconds, secret, wholeNumber, without } from "./texts.js"

/** What is said of a text; its value where nothing is. */
const readBy = (schema: z.ZodType, text: string): unknown => {
  const found = schema.safeParse(text)
  return found.success ? found.data : found.error.issues.map(({ message }) => message)
}

test("numbers are whole and within their limits", () => {
  assert.equal(readBy(port, "65535"), 65_535)
  assert.equal(readBy(wholeNumber({ least: 1, most: 15 }), "15"), 15)
  for (const text of ["65536", "-1", "80x", "", "1e3"])
    assert.deepEqual(readBy(port, text), ["expected a port number"], text)
  assert.deepEqual(readBy(wholeNumber({ least: 1 }), "0"), ["expected at least 1"])
  assert.deepEqual(readBy(wholeNumber({ most: 15 }), "16"), ["expected at most 15"])
})

test("a duration may be a part of its unit, and 0 only where that has a meaning", () => {
  assert.equal(readBy(seconds(60).schema, "0.5"), 500)
  for (const text of ["0", "0.0"]) assert.deepEqual(readBy(seconds(60).schema, text), ["expected more than 0"], text)
  assert.equal(readBy(seconds(60, { mayBeZero: true }).schema, "0"), 0)
})

test("a flag is 1 or 0, or in words, and says its default as it is written", () => {
  const { schema, defaultText } = flag(true)
  const flags = ["1", "0", "true", "false"].map((text) => readBy(schema, text))
  assert.deepEqual(flags, [true, false, true, false])
  assert.deepEqual(readBy(schema, "yes"), ["expected 1 or 0"])
  assert.equal(defaultText, "`1`")
})

test("secrets go by https, or to this machine; a text that is no address is refused like any other", () => {
  for (const text of ["https://example.com/a", "http://127.0.0.1:9", "http://localhost", "http://[::1]:1/x"])
    assert.equal(readBy(safeUrl, text), text)
  for (const text of ["http://example.com", "letsencrypt.org", "", "http://127.0.0.1.example.com", "ftp://localhost"])
    assert.deepEqual(
      readBy(
        safeUrl.refine((url) => new URL(url).host !== ""),
        text,
      ),
      ["expected an https address"],
      text,
    )
})

test("JSON is refused with the place where it differs", () => {
  const environment = json(z.record(z.string(), z.string()), "expected a JSON object with string values")
  assert.deepEqual(readBy(environment, '{"A":"1"}'), { A: "1" })
  for (const text of ["[]", "{", "1"])
    assert.deepEqual(readBy(environment, text), ["expected a JSON object with string values"], text)
  assert.match(String(readBy(environment, '{"A":1}')), /^expected a JSON object with string values \(A: .*string/)
})

test("a text is refused with its problem, and a secret shows neither itself nor what it was made of", () => {
  const even = without((text) => (text.length % 2 === 0 ? undefined : "expected an even number of characters"))
  assert.deepEqual(readBy(secret(even), "odd"), ["expected an even number of characters"])
  assert.equal(String(readBy(secret(even), "even")), "[secret]")
})
