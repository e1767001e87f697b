import assert from "node:assert/strict"
import { test } from "node:test"
import { retryDelayMs } from "./retry.js"
import { signingSecretPattern, webhookHeaders } from "./signature.js"

test("a call is signed as Standard Webhooks says", () => {
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

test("a delivery is tried for half a day, ever more rarely, and then given up", () => {
  const delays = Array.from({ length: 10 }, (_, index) => retryDelayMs(index + 1, 0.5))
  const hours = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0) / 3_600_000

  assert.deepEqual(delays.slice(0, 3), [5_000, 30_000, 120_000])
  assert.equal(delays[9], undefined)
  assert.ok(hours > 12 && hours < 16, `${hours} hours`)
  assert.deepEqual([retryDelayMs(1, 0), retryDelayMs(1, 1)], [4_000, 6_000])
})
