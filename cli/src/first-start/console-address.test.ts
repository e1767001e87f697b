import assert from "node:assert/strict"
import { test } from "node:test"
import { startApi } from "@superstep/control/testing/api"
import { sql } from "@superstep/toolkit/db/sql"
import { consoleAddress } from "./console-address.js"

test("only a terminal gets an address with a code: what is stored as a log signs nobody in", async () => {
  await using api = await startApi()
  const credentials = { url: "https://a.example/", tenant_id: api.workspaceId, api_key: "", org_api_key: api.orgKey }

  const [stored, shown] = [
    await consoleAddress(api.db, credentials, { isTerminal: false }),
    await consoleAddress(api.db, credentials, { isTerminal: true }),
  ]
  const codes = await api.db.rows(sql`select from console_codes`)

  assert.equal(stored, "https://a.example/sign-in")
  assert.match(shown, /^https:\/\/a\.example\/sign-in#code=[\w-]{43}$/)
  assert.equal(codes.length, 1)
})

test("an installation whose key was revoked, or whose workspace is gone, gets an address without a code", async () => {
  await using api = await startApi()
  const credentials = { url: "https://a.example", tenant_id: api.workspaceId, api_key: "", org_api_key: api.orgKey }
  const gone = { ...credentials, tenant_id: "00000000-0000-4000-8000-000000000000" }
  const revoked = { ...credentials, org_api_key: "ssk_revoked" }

  const addresses = [
    await consoleAddress(api.db, gone, { isTerminal: true }),
    await consoleAddress(api.db, revoked, { isTerminal: true }),
  ]

  assert.deepEqual(addresses, Array(2).fill("https://a.example/sign-in"))
})
