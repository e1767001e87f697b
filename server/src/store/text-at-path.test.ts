import assert from "node:assert/strict"
import { test } from "node:test"
import { textsAt } from "./text-at-path.js"

const value = {
  title: "Tea",
  cups: 2,
  hot: false,
  none: null,
  who: { name: "Ada", likes: ["green", "black"] },
  notes: [{ text: "first" }, { text: "second", by: "Bob" }, { by: "Eve" }],
}

test("a path selects the same texts as in LangGraph's stores", () => {
  const cases: [string, string[]][] = [
    ["$", [JSON.stringify(value)]],
    ["title", ["Tea"]],
    ["$.title", ["Tea"]],
    ["cups", ["2"]],
    ["hot", ["false"]],
    ["none", []],
    ["absent", []],
    ["title.deeper", []],
    ["who.name", ["Ada"]],
    ["who", [JSON.stringify(value.who)]],
    ["who.likes[*]", ["green", "black"]],
    ["who.likes[-1]", ["black"]],
    ["who.likes[7]", []],
    ["who.likes[x]", []],
    ["who.*", ["Ada", JSON.stringify(value.who.likes)]],
    ["notes[*].text", ["first", "second"]],
    ["notes[0].text", ["first"]],
    ["notes.text", []],
    ["{title,who.name}", ["Tea", "Ada"]],
    ["notes[1].{text, by}", ["second", "Bob"]],
    ["constructor", []],
    ["__proto__", []],
  ]
  for (const [path, expected] of cases) assert.deepEqual(textsAt(value, path), expected, path)
})
