import assert from "node:assert/strict"
import { test } from "node:test"
import { isProof, presentedProof } from "./signature.js"

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

test("Gitea signs without a prefix, Bitbucket with one, and GitLab sends the secret itself", () => {
  assert.ok(isProof("gitea", githubs.slice("sha256=".length), secret, body))
  assert.ok(isProof("bitbucket", githubs, secret, body))
  assert.ok(isProof("gitlab", secret, secret, body))

  assert.ok(!isProof("gitlab", githubs, secret, body))
  assert.ok(!isProof("gitlab", `${secret}x`, secret, body))
  assert.ok(!isProof("bitbucket", secret, secret, body))
})

test("each host's own header counts, and no other", () => {
  const only = (name: string) => (asked: string) => (asked === name ? "proof" : undefined)

  assert.equal(presentedProof("github", only("x-hub-signature-256")), "proof")
  assert.equal(presentedProof("github", only("x-gitlab-token")), undefined)
  // SHA-1, which GitHub still sends too.
  assert.equal(presentedProof("github", only("x-hub-signature")), undefined)
  assert.equal(presentedProof("gitea", only("x-hub-signature-256")), "proof")
  assert.equal(presentedProof("gitlab", only("x-gitlab-token")), "proof")
  assert.equal(presentedProof("bitbucket", only("x-hub-signature")), "proof")
})
