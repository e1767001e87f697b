import assert from "node:assert/strict"
import { test } from "node:test"
import { isRegistryAway, mayPass, unanswered } from "./failures.js"

const failed = (code: string) => unanswered("images", new TypeError("fetch failed", { cause: { code } }))

test("a registry whose certificate is refused is distinguished from one that does not answer", () => {
  assert.match(failed("SELF_SIGNED_CERT_IN_CHAIN").message, /not trusted here \(SELF_SIGNED_CERT_IN_CHAIN\)/)
  assert.match(failed("UNABLE_TO_VERIFY_LEAF_SIGNATURE").message, /set NODE_EXTRA_CA_CERTS/)
  for (const code of ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "ERR_TLS_CERT_ALTNAME_INVALID"])
    assert.match(failed(code).message, new RegExp(`not valid \\(${code}\\): check its dates and names`))
  assert.match(failed("ECONNREFUSED").message, /does not answer/)
  assert.match(unanswered("images", new Error("silent for 1 ms")).message, /does not answer/)
})

test("a request is not tried again after a certificate was refused, though the registry counts as away", () => {
  const errors = ["CERT_HAS_EXPIRED", "SELF_SIGNED_CERT_IN_CHAIN", "ECONNREFUSED"].map(failed)

  assert.deepEqual(errors.map(mayPass), [false, false, true])
  assert.deepEqual(errors.map(isRegistryAway), [true, true, true])
})
