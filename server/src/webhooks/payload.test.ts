import assert from "node:assert/strict"
import { test } from "node:test"
import { payloadText } from "./payload.js"
import type { Delivery } from "./queries.js"

test("a webhook gets numbers as the client sent them and the graph made them", () => {
  const kwargs = '{"input":{"id":12345678901234567890},"config":{"configurable":{"rate":1.0,"__secret":1}}}'
  const delivery = { kwargs, metadata: '{"n":-0.0}', values: '{"big":36893488147419103232}', error: null }

  const text = payloadText(delivery as Delivery, new Date(0))

  const exact = ['"id":12345678901234567890', '"configurable":{"rate":1.0}', '"n":-0.0', '"big":36893488147419103232']
  for (const part of exact) assert.ok(text.includes(part), `${part} in ${text}`)
})
