import assert from "node:assert/strict"
import { test } from "node:test"
import { signingSecretPattern, webhookHeaders } from "./signature.js"

test("a call is signed according to Standard Webhooks", () => {
  // The example that its specification and its libraries test with.
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  const sentAt = new Date(1_614_265_330_000)
  const call = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", sentAt, body: '{"test": 2432232314}' }

  assert.match(secret, signingSecretPattern)
  assert.deepEqual(webhookHeaders(call, secret), {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  })
  assert.equal("webhook-signature" in webhookHeaders(call, undefined), false)
})
