import assert from "node:assert/strict"
import { test } from "node:test"
import { fuzz } from "./fuzz.js"

const found = async (read: (text: string) => unknown, examples = ['{"a": "b c"}']) =>
  (
    await fuzz(
      { name: "it", examples, read, refuses: (error) => error instanceof SyntaxError },
      { seed: 1, inputs: 200 },
    )
  ).map(({ what }) => what)

test("a fuzzer finds errors that are not documented, values that are not fit, and times that grow too fast", async () => {
  // For each space it looks at a part of the text: a fifth of a second for the longest one.
  const quadratic = (text: string) => {
    const codes = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    let spaces = 0
    for (const code of codes) {
      for (let other = 0; code === 32 && other < codes.length; other += 40) if (codes[other] === 32) spaces++
    }
    return spaces
  }

  assert.deepEqual(await found(JSON.parse), [])
  assert.match((await found((text) => JSON.parse(text).a.length)).join("\n"), /it throws TypeError/)
  assert.match((await found(quadratic, ["a b"])).join("\n"), /its time grows faster than the text, grown by " "/)
  const unfit = await fuzz(
    { name: "it", examples: ["a"], read: (text) => text, check: (text) => assert.ok(!String(text).includes("\0")) },
    { seed: 1, inputs: 50 },
  )
  assert.equal(unfit.length, 1)
})
