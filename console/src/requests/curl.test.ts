import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { curlOf } from "./curl.js"

test("a shell passes the address, the key and the body to curl unchanged", () => {
  const command = curlOf({ method: "POST", url: "http://a.test/x?q='a b'&c", body: { text: "it's $HOME `x`" } })
  const script = `curl() { printf '%s\\n' "$@"; }; ${command}`

  const words = execFileSync("sh", ["-c", script], { env: { KEY: "lsv2_pt_1" } })
    .toString()
    .trimEnd()
    .split("\n")

  assert.deepEqual(words, [
    "-s",
    "-X",
    "POST",
    "http://a.test/x?q='a b'&c",
    "-H",
    "x-api-key: lsv2_pt_1",
    "-H",
    "content-type: application/json",
    "-d",
    `{"text":"it's $HOME \`x\`"}`,
  ])
})

test("a server without keys gets none, and a read needs no method", () => {
  assert.equal(
    curlOf({ method: "GET", url: "http://127.0.0.1:2024/info", hasKey: false }),
    "curl -s 'http://127.0.0.1:2024/info'",
  )
})
