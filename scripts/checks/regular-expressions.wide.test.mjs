import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join, relative } from "node:path"
import test from "node:test"
import { filesBelow, packages, root } from "../setup.mjs"
import { expressionsIn, slowText } from "./regular-expressions.mjs"

/** Expressions that need more than linear time, and never get a long text of a stranger. */
const bounded = {
  "control/src/logs/structured-line.ts": "of a line only the first 200 characters are examined",
  "console/src/json-editor/json-tokens.ts": "JSON.stringify has written the text, so every text in it ends",
  "workers/js/src/loading/code-frame.ts": "lines of a stack of the same process",
}

test("expressions that take long are found, and others are not", () => {
  const found = expressionsIn("const a = /\\/+$/\nuse(/^(a+)+$/, 1 / 2 / 3) // and/or\nreturn /^[a-z/]+$/i.test(b)\n")

  assert.deepEqual(
    found.map(({ line, text }) => [line, text]),
    [
      [1, "/\\/+$/"],
      [2, "/^(a+)+$/"],
      [3, "/^[a-z/]+$/i"],
    ],
  )
  const areSlow = found.map(({ regExp }) => slowText(regExp) !== undefined)
  assert.deepEqual(areSlow, [true, true, false])
})

test("no expression of the sources takes long, whatever a text repeats", () => {
  const tried = new Map()
  const slow = []

  for (const file of sourceFiles()) {
    for (const { line, text, regExp } of expressionsIn(readFileSync(join(root, file), "utf8"))) {
      if (!tried.has(text)) tried.set(text, slowText(regExp))
      if (tried.get(text) !== undefined) slow.push({ file, line, text, repeated: tried.get(text) })
    }
  }

  assert.ok(tried.size > 300, "the expressions are found")
  assert.deepEqual(
    slow.filter(({ file }) => !Object.hasOwn(bounded, file)),
    [],
    "write it so that it looks at each character once, or bound its text and add the file to the list above with the reason",
  )
  assert.deepEqual(
    [...new Set(slow.map(({ file }) => file))].sort(),
    Object.keys(bounded).sort(),
    "the list is current",
  )
})

function sourceFiles() {
  return packages()
    .flatMap((folder) => filesBelow(join(root, folder, "src")))
    .map((file) => relative(root, file))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|\/testing\/|^(tests|bench|examples)\//.test(file))
}
