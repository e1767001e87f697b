import assert from "node:assert/strict"
import { test } from "node:test"
import { isProof } from "./signature.js"

const body = Buffer.from("Hello, World!")
const secret = "It's a Secret to Everybody"
// GitHub's published example: docs.github.com, "Validating webhook deliveries", testing.
const githubs = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

test("GitHub's published example is a valid proof, and any change invalidates it", () => {
  assert.ok(isProof("github", githubs, secret, body))

  assert.ok(!isProof("github", githubs, `${secret} `, body))
  assert.ok(!isProof("github", githubs, secret, Buffer.from("Hello, World!\n")))
  assert.ok(!isProof("github", githubs.replace("7571", "7572"), secret, body))
  for (const odd of [
    "",
    "sha256=",
    "sha1=7571",
    githubs.slice(0, -1),
    `${githubs}0`,
    githubs.replace("sha256", "sha512"),
  ]) {
    assert.ok(!isProof("github", odd, secret, body), odd)
  }
})
