import assert from "node:assert/strict"
import test from "node:test"
import { sizeProblems, styleProblems, typeProblems } from "./check.mjs"
import { root } from "./setup.mjs"

test("a compiler error becomes a line with path and line", () => {
  const output = "server/src/a.ts(3,5): error TS2322: Type 'a' is not b.\n  more words\n"

  assert.deepEqual(typeProblems(output), ["server/src/a.ts:3 Type 'a' is not b. (TS2322)"])
})

test("a finding of biome becomes a line that says what mends it", () => {
  const output = [
    `::error title=assist/source/organizeImports,file=${root}/a.ts,line=2,col=1::Sort these imports.`,
    "::error title=lint/style/x,file=b.ts,line=7,col=1::Use a%2C not b.",
  ].join("\n")

  assert.deepEqual(styleProblems(output), [
    "a.ts:2 Sort these imports.: npm run fix (assist/source/organizeImports)",
    "b.ts:7 Use a, not b. (lint/style/x)",
  ])
})

test("more than the budget before the first screen is a problem that names the largest file", () => {
  const small = [{ name: "style.css", bytes: 3000 }]

  assert.deepEqual(sizeProblems(small), [])
  assert.match(
    sizeProblems([...small, { name: "main-1.js", bytes: 190_000 }])[0],
    /193 kB .* 160 kB.*main-1\.js with 190 kB/,
  )
})
