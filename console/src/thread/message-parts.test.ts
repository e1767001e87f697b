import assert from "node:assert/strict"
import { test } from "node:test"
import { partOfEach, partsOf } from "./message-parts.js"

const messages = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ({ key: `m${from + n}` }))
const shapeOf = (parts: ReturnType<typeof partsOf>) => parts.map(({ key, messages: { length } }) => `${key} ${length}`)
const former = partOfEach(partsOf(messages(0, 50), new Map()))

const changes = [
  ["at first each part has twenty", messages(0, 50), new Map(), ["m0 20", "m20 20", "m40 10"]],
  ["what comes at the end fills the last part", messages(0, 65), former, ["m0 20", "m20 20", "m40 20", "m60 5"]],
  ["a part keeps its name without its first message", messages(1, 50), former, ["m0 19", "m20 20", "m40 10"]],
  [
    "what comes in between joins the part before it",
    [...messages(0, 10), ...messages(90, 93), ...messages(10, 50)],
    former,
    ["m0 23", "m20 20", "m40 10"],
  ],
  [
    "what comes before all has parts of its own",
    [...messages(100, 130), ...messages(0, 50)],
    former,
    ["m100 20", "m120 10", "m0 20", "m20 20", "m40 10"],
  ],
  [
    "no part has the name of another one, whatever the order",
    [...messages(20, 30), ...messages(0, 10), ...messages(30, 40)],
    former,
    ["m20 10", "m0 20"],
  ],
] as const

for (const [title, shown, before, expected] of changes)
  test(`messages in parts: ${title}`, () => assert.deepEqual(shapeOf(partsOf(shown, before)), expected))
