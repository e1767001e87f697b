import assert from "node:assert/strict"
import { test } from "node:test"
import { unknownPlatform } from "./connection.js"

test("without a known platform the error lists the ways to name one, and one that answers on this machine", () => {
  const none = unknownPlatform("/project/.superstep/credentials.json", undefined)
  const found = unknownPlatform("/project/.superstep/credentials.json", "http://127.0.0.1:8900")

  assert.match(
    none,
    /\/project\/\.superstep\/credentials\.json does not exist, and none answers.*--url.*SUPERSTEP_API_KEY.*superstep up/,
  )
  assert.match(
    found,
    /One answers at http:\/\/127\.0\.0\.1:8900: .*--home.*--url http:\/\/127\.0\.0\.1:8900.*SUPERSTEP_API_KEY/,
  )
})
