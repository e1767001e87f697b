import assert from "node:assert/strict"
import { test } from "node:test"
import { canonicalHostName } from "./host-name.js"

test("a host name is stored in lower case, in ASCII and without the dot at the end", () => {
  assert.equal(canonicalHostName("Agent.Example.COM"), "agent.example.com")
  assert.equal(canonicalHostName("agent.example.com."), "agent.example.com")
  assert.equal(canonicalHostName("bücher.example"), "xn--bcher-kva.example")
  assert.equal(canonicalHostName("xn--bcher-kva.example"), "xn--bcher-kva.example")
  // A letter of full width.
  assert.equal(canonicalHostName("ａgent.example"), "agent.example")
})

test("what is no host name is refused", () => {
  const refused = [
    ...["", ".", "localhost", "agent", "agent..example.com", ".example.com", "agent.example.com.."],
    ...["10.0.0.1", "127.1", "0x7f.1", "1.2.3.4.", "[::1]", "::1", "example.1"],
    ...["*.example.com", "a_b.example.com", "-a.example.com", "a-.example.com", "agent.example.com:443"],
    ...["https://agent.example.com", "agent.example.com/x", "user@agent.example.com", " agent.example.com"],
    ...["agent.example.com\n", "agent%2eexample.com", "xn--a.example", "a\u0000b.example.com"],
    ...[`${"a".repeat(64)}.example.com`, `${"a.".repeat(130)}com`],
  ]

  for (const text of refused) assert.equal(canonicalHostName(text), undefined, JSON.stringify(text))
})
