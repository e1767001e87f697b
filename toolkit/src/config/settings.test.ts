import assert from "node:assert/strict"
import { test } from "node:test"
import { inspect } from "node:util"
import { z } from "zod"
import { createLog } from "../log/log.js"
import { InvalidSettings, readSettings, Secret } from "./settings.js"

const settings = {
  port: {
    env: "SUPERSTEP_PORT",
    describe: "Port of the API.",
    schema: z.coerce.number().int().default(8900) as unknown as z.ZodType<number, string | undefined>,
  },
  key: {
    env: "SUPERSTEP_KEY",
    describe: "Key that seals secrets.",
    schema: z.string().transform((text) => new Secret(text)) as unknown as z.ZodType<Secret, string | undefined>,
  },
  publicUrl: {
    env: "SUPERSTEP_PUBLIC_URL",
    describe: "Address that users see.",
    schema: z.url().optional() as z.ZodType<string | undefined, string | undefined>,
  },
}

test("all problems are reported together, and no value is shown", () => {
  const read = () => readSettings(settings, { SUPERSTEP_PORT: "many", SUPERSTEP_PUBLIC_URL: "hunter2" })

  assert.throws(read, (error) => {
    assert.ok(error instanceof InvalidSettings)
    assert.match(error.message, /SUPERSTEP_PORT: .*number.* Port of the API\./)
    assert.match(error.message, /SUPERSTEP_KEY: required\. Key that seals secrets\./)
    assert.match(error.message, /SUPERSTEP_PUBLIC_URL: /)
    assert.doesNotMatch(error.message, /hunter2/)
    return true
  })
})

test("a secret is printed as [secret], and only its method returns the value", () => {
  const secret = new Secret("hunter2")
  const lines: string[] = []
  createLog({ process: "test", level: "info" }, { write: (line) => lines.push(line) }).info({ secret }, "started")

  const shown = [`${secret}`, String(secret), JSON.stringify({ secret }), inspect({ secret }), lines.join()]

  for (const text of shown) {
    assert.match(text, /\[secret\]/)
    assert.doesNotMatch(text, /hunter2/)
  }
  assert.equal(secret.reveal(), "hunter2")
})
