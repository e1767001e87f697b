import assert from "node:assert/strict"
import { test } from "node:test"
import { cleanLine, cleanLines, maxRawBytes } from "./clean-lines.js"
import { hideSecrets } from "./hide-secrets.js"

const asIs = (text: string) => text

test("a stored line contains no terminal codes or control characters, and is limited (G2)", () => {
  assert.equal(cleanLine("\u001b[31mred\u001b[0m\u0000\r", asIs), "red")
  assert.equal(cleanLine("a\tb", asIs), "a\tb")
  assert.equal(cleanLine("one\r\ntwo\u2028\u009b31mx\u202e\n", asIs), "one\ntwox")
  const long = cleanLine("ä".repeat(20_000), asIs)
  assert.ok(Buffer.byteLength(long) <= 16 * 1024)
  assert.match(long, /^ä+ … \[line cut\]$/)
})

test("a secret is hidden in every form it may be printed in (G2)", () => {
  const value = 'pass word"/+ü?!'
  const hide = hideSecrets([value, "short", "first line\nsecond line"])
  const base64 = Buffer.from(value).toString("base64")
  const forms = [
    value,
    encodeURIComponent(value),
    encodeURIComponent(value).toLowerCase(),
    new URLSearchParams([["", value]]).toString().slice(1),
    base64,
    Buffer.from(value).toString("base64url"),
    Buffer.from(value).toString("hex"),
    JSON.stringify(value).slice(1, -1),
    JSON.stringify(JSON.stringify(value)).slice(3, -3),
    "second line",
  ]

  for (const form of forms) assert.equal(hide(`a ${form} b`), "a [secret] b", form)
  assert.equal(hide("short words stay"), "short words stay")
  for (const user of ["u", "us", "use"]) {
    const header = Buffer.from(`${user}:${value}:x`).toString("base64")
    assert.match(hide(header), /^.{0,8}\[secret\].{0,6}$/, "inside of a longer text in base64")
  }
})

test("overlapping secrets are hidden completely (G2)", () => {
  const hide = hideSecrets(["abcdef123", "123456789", "abcdef"])

  assert.equal(hide("x abcdef123456789 y"), "x [secret] y")
  assert.equal(hide("abcdef abcdef"), "[secret] [secret]")
  assert.equal(hideSecrets([])("as it is"), "as it is")
})

test("a secret over several lines is hidden in each, and the number of lines stays (G2)", () => {
  const key = "ab\ncd\r\nef\ngh"
  const long = "s3cret-".repeat(20)
  const wrapped = Buffer.from(long).toString("base64").replaceAll(/.{76}/g, "$&\n").split("\n")

  assert.deepEqual(cleanLines(["before", "ab", "cd", "ef", "gh", "after"], hideSecrets([key])), [
    "before",
    ...Array(4).fill("[secret]"),
    "after",
  ])
  assert.deepEqual(cleanLines(wrapped, hideSecrets([long])), Array(wrapped.length).fill("[secret]"))
  assert.equal(cleanLine(`{"key":"${JSON.stringify(key).slice(1, -1)}"}`, hideSecrets([key])), '{"key":"[secret]"}')
})

test("secrets that are chosen to make hiding slow do not (G2)", () => {
  const text = `${"a".repeat(50_000)}b`
  const values = Array.from({ length: 200 }, (_, index) => `${"a".repeat(6 + index * 100)}${index}`)

  const hide = hideSecrets(values)

  // Comparing each secret at each position would take hours.
  assert.ok(hide(text).length <= text.length)
  assert.equal(hide(`x ${values[150]} y`), "x [secret] y")
})

test("no part of a long secret remains before a cut (G2)", () => {
  const secret = "s".repeat(30_000)

  assert.equal(cleanLine(`token ${secret}`, hideSecrets([secret])), "token [secret]")
  const half = `${"x".repeat(maxRawBytes - 10_000)}${secret.slice(0, 10_000)}`
  assert.ok(!cleanLine(half, hideSecrets([secret])).includes("sss"))
  const shrinking = `${`${secret} `.repeat(17)}${secret}`.slice(0, maxRawBytes)
  assert.ok(
    !cleanLine(shrinking, hideSecrets([secret])).includes("sss"),
    "what was read of a line ends within a secret",
  )
})
