import assert from "node:assert/strict"
import { test } from "node:test"
import { warningFor } from "./open-ports.js"

test("the warning names ports that everybody may listen on, and what to do", () => {
  assert.equal(warningFor([443, 843], 1024), undefined)
  assert.match(
    warningFor([443, 8900], 1024) ?? "",
    /listen on port 8900 and read callers' keys: choose ports below 1024$/,
  )
  assert.match(
    warningFor([443, 8900], 0) ?? "",
    /port 443 and 8900 .* set net\.ipv4\.ip_unprivileged_port_start to 1024/,
  )
})
