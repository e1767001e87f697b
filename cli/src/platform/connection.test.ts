import assert from "node:assert/strict"
import { test } from "node:test"
import { unknownPlatform } from "./connection.js"

test("without a known platform the error lists the ways to name one, and one that answers on this machine", () => {
  const credentials = "/project/.superstep/credentials.json"
  const none = unknownPlatform(credentials, [])
  const found = unknownPlatform(credentials, [{ url: "http://127.0.0.1:8900" }])
  const several = unknownPlatform(credentials, [
    { url: "http://127.0.0.1:9000", folder: "/a/.superstep" },
    { url: "http://127.0.0.1:9100", folder: "/b/.superstep" },
  ])

  assert.match(
    none,
    /\/project\/\.superstep\/credentials\.json does not exist, and none answers.*--home or SUPERSTEP_HOME.*--url.*SUPERSTEP_API_KEY.*superstep up/,
  )
  assert.match(
    found,
    /One answers at http:\/\/127\.0\.0\.1:8900: .*--home.*--url http:\/\/127\.0\.0\.1:8900.*SUPERSTEP_API_KEY/,
  )
  assert.match(several, /2 run .*--home \/a\/\.superstep \(http:\/\/127\.0\.0\.1:9000\), --home \/b\/\.superstep /)
})
