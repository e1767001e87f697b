import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "../db/sql.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { isPlainText, plainText, storableText, unstorablePath } from "./storable.js"

const halves = ["\ud800", "a\udc00", "\ud83d \ude00", "\udfff\ud800"]

test("what is shown in place of a text that Postgres refuses can be stored, and all other texts stay as they are", async () => {
  await using db = await freshDatabase()
  const stored = async (text: string) =>
    await db.row<{ text: string; json: string }>(
      sql`select ${text}::text as text, ${JSON.stringify({ [text]: text })}::jsonb ->> ${text} as json`,
    )
  const harmless = ["", "plain", "😀", "\u0001\u001f\u007f\ufffe\uffff", String.raw`\u0000`, "a\nb\tc"]

  assert.equal(storableText("a\u0000b\u0000", 100), String.raw`a\u0000b\u0000`)
  assert.equal(storableText("\ud83d \ude00", 100), "\ufffd \ufffd")
  for (const text of harmless) assert.equal(storableText(text, 1000), text)
  for (const text of [...harmless, ...["\u0000", ...halves].map((text) => storableText(text, 100))]) {
    assert.ok(isPlainText(text))
    assert.deepEqual(await stored(text), { text, json: text })
  }
  for (const text of ["\u0000", ...halves]) {
    assert.equal(plainText.safeParse(text).success, false)
    assert.notDeepEqual(await stored(text).catch(() => undefined), { text, json: text })
  }
})

test("a text that cannot be stored is found anywhere in a JSON value", () => {
  const deep = JSON.parse(`${'{"a":['.repeat(20_000)}${'"\\u0000"'}${"]}".repeat(20_000)}`)

  assert.equal(unstorablePath({ a: ["😀", 1, null, { b: String.raw`\u0000` }] }), undefined)
  assert.deepEqual(unstorablePath({ http: { cors: { allow_origins: ["*", "\u0000"] } } }), [
    "http",
    "cors",
    "allow_origins",
    "1",
  ])
  assert.deepEqual(unstorablePath({ graphs: { "a\u0000": "./a.ts:graph" } }), ["graphs", String.raw`a\u0000`])
  assert.equal(unstorablePath(deep)?.length, 20)
})
