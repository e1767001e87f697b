import assert from "node:assert/strict"
import { test } from "node:test"
import { assertPortFree } from "./ports.js"

test("an address of another machine is an error", async () => {
  await assert.rejects(
    assertPortFree({ host: "192.0.2.1", port: 8900, option: "--port" }),
    /not an address of this machine/,
  )
})
