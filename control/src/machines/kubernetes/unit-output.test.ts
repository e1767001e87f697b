import assert from "node:assert/strict"
import test from "node:test"
import { wholeLines } from "./unit-output.js"

async function* chunksOf(...chunks: readonly string[]) {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

async function* breakingOff() {
  yield Buffer.from("one\ntw")
  throw new Error("aborted")
}

async function lines(log: AsyncIterable<Buffer>, takesRest: boolean): Promise<string[]> {
  const found: string[] = []
  for await (const piece of wholeLines(log, takesRest)) found.push(piece.toString())
  return found
}

test("the last line of a pod that runs waits for its end, since more of it may come", async () => {
  assert.deepEqual(await lines(chunksOf("one\ntw", "o\nthr"), false), ["one\ntwo\n"])
  assert.deepEqual(await lines(chunksOf("one\ntw", "o\nthr"), true), ["one\ntwo\nthr"])
  assert.deepEqual(await lines(chunksOf("thr"), false), [])
})

test("what breaks off has given what there was", async () => {
  assert.deepEqual(await lines(breakingOff(), false), ["one\n"])
  assert.deepEqual(await lines(breakingOff(), true), ["one\ntw"])
})

test("a long log is given in pieces of whole lines as it comes", async () => {
  const line = `${"x".repeat(999)}\n`
  const chunk = line.repeat(100) + line.slice(0, 500)

  const pieces = await lines(chunksOf(...Array.from({ length: 50 }, () => chunk)), true)

  assert.ok(pieces.length > 3)
  assert.ok(pieces.every((piece) => piece.length < 2 * 1024 * 1024))
  assert.ok(pieces.slice(0, -1).every((piece) => piece.endsWith("\n")))
  assert.equal(pieces.join(""), chunk.repeat(50))
})
