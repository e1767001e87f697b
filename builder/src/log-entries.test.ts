import assert from "node:assert/strict"
import test from "node:test"
import { gatherEntries } from "./log-entries.js"

function gathered(text: string): (readonly [string, string | undefined])[] {
  const entries: (readonly [string, string | undefined])[] = []
  const { push, end } = gatherEntries((line, level) => entries.push([line, level]))
  for (const line of text.split("\n")) push(line)
  end()
  return entries
}

const traceback = `Traceback (most recent call last):
  File "setup.py", line 3, in <module>
    build()
    ~~~~~^^
KeyError: 'a'`

const chained = `${traceback}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "setup.py", line 5, in <module>
ValueError: no a
  in the second line`

const grouped = `  + Exception Group Traceback (most recent call last):
  |   File "setup.py", line 3, in <module>
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +------------------------------------`

test("a traceback is one entry with its level, with what led to it; other lines stay as they are", () => {
  assert.deepEqual(gathered(`before\n${traceback}\nafter`), [
    ["before", undefined],
    [traceback, "ERROR"],
    ["after", undefined],
  ])
  assert.deepEqual(gathered(`${chained}\n\n  after`), [
    [chained, "ERROR"],
    ["  after", undefined],
  ])
  assert.deepEqual(gathered(`${grouped}\nafter`), [
    [grouped, "ERROR"],
    ["after", undefined],
  ])
  assert.deepEqual(gathered(`${traceback}\n${traceback}`).length, 1)
})

test("a traceback that never ends is printed in pieces, and one that is cut is printed at the end", () => {
  const endless = `Traceback (most recent call last):\n${"  File x\n".repeat(1200)}`

  const entries = gathered(endless)

  assert.equal(entries[0]?.[1], "ERROR")
  assert.ok(entries.length > 1)
  assert.equal(entries.flatMap(([text]) => text.split("\n")).length, 1201 + 1)
  assert.deepEqual(gathered("Traceback (most recent call last):"), [["Traceback (most recent call last):", "ERROR"]])
})

test("the list of installed packages is one line", () => {
  const texts = gathered("Installed 2 packages in 3ms\n + anyio==4.1.0\n + httpx==0.28.1\ndone\n + late==1").map(
    ([text]) => text,
  )
  assert.deepEqual(texts, ["Installed 2 packages in 3ms", " + anyio==4.1.0, httpx==0.28.1", "done", " + late==1"])
})
