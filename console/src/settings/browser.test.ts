import assert from "node:assert/strict"
import { test } from "node:test"
import { browserOf } from "./browser.js"

test("a session's browser has the name that people know it by", () => {
  const like = (system: string, end: string) => `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) ${end}`

  assert.equal(browserOf(like("X11; Linux x86_64", "Chrome/150.0 Safari/537.36")), "Chrome on Linux")
  assert.equal(browserOf(like("Windows NT 10.0; Win64", "Chrome/150.0 Safari/537.36 Edg/150.0")), "Edge on Windows")
  assert.equal(
    browserOf(like("iPhone; CPU iPhone OS 19_0 like Mac OS X", "Version/19.0 Safari/604.1")),
    "Safari on iPhone",
  )
  assert.equal(browserOf("Mozilla/5.0 (Macintosh; rv:150.0) Gecko/20100101 Firefox/150.0"), "Firefox on macOS")
  assert.deepEqual([browserOf("curl/8.0"), browserOf(null)], ["Another program", "Another program"])
})
