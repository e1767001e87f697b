import assert from "node:assert/strict"
import { test } from "node:test"
import { unanswered } from "./client.js"

test("a registry whose certificate is not trusted is told from one that does not answer", () => {
  const failed = (code: string) => unanswered(new TypeError("fetch failed", { cause: { code } }))

  assert.match(failed("SELF_SIGNED_CERT_IN_CHAIN"), /not trusted here \(SELF_SIGNED_CERT_IN_CHAIN\)/)
  assert.match(failed("ECONNREFUSED"), /does not answer/)
  assert.match(unanswered(new Error("silent for 1 ms")), /does not answer/)
})
