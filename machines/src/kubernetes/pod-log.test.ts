import assert from "node:assert/strict"
import test from "node:test"
import { maxRawBytes } from "@superstep/toolkit/text/clean-lines"
import { placeOf } from "../parts/output/engine-output.js"
import { readAnswer, readPodLog, timedLines } from "./pod-log.js"

async function* chunksOf(...chunks: readonly string[]) {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

async function* breakingOff(text: string) {
  yield Buffer.from(text)
  throw new Error("aborted")
}

const time = (second: number) => `2026-01-01T00:00:0${second}.000000000Z`

const asked = (from: string, hasEnded = true) => ({ from, place: placeOf(from) ?? { lifeId: "1_a" }, hasEnded })

async function lines(log: AsyncIterable<Buffer>): Promise<string[][]> {
  const found: string[][] = []
  for await (const { time, content } of timedLines(log)) found.push([time, content.toString()])
  return found
}

test("lines are found in whatever pieces a log comes, and one without an end is the last", async () => {
  const log = "t1 one\nt2 \nt3 a b\nt4 half"
  const expected = [
    ["t1", "one\n"],
    ["t2", "\n"],
    ["t3", "a b\n"],
    ["t4", "half"],
  ]

  for (let cut = 0; cut <= log.length; cut++)
    assert.deepEqual(await lines(chunksOf(log.slice(0, cut), log.slice(cut))), expected, `cut at ${cut}`)
})

test("an answer of an exited pod that breaks off, wherever that is, loses no line and cuts none", async () => {
  const whole = `${time(1)} one\n${time(2)} two\n${time(3)} three`

  for (let cut = 0; cut <= whole.length; cut++) {
    const broken = await readAnswer(breakingOff(whole.slice(0, cut)), asked(""))
    const rest = await readAnswer(chunksOf(whole), asked(broken.next))

    assert.deepEqual([...broken.lines, ...rest.lines], ["one", "two", "three"], `broken off at ${cut}`)
  }
})

test("a file that cannot be read is no empty one, and a line that was cut within its time is none", async () => {
  await assert.rejects(readPodLog(breakingOff(`${time(1)} one\n`), asked("")), /aborted/)
  const { lines } = await readPodLog(chunksOf(`${time(1)} one\n2026-01-01T00:0`), asked(""))

  assert.deepEqual(lines, ["one"])
})

test("a line that is too long is cut, and is read once while it grows", async () => {
  const long = "x".repeat(2 * maxRawBytes)
  const read = (text: string, from: string) => readPodLog(chunksOf(text), asked(from, false))

  const first = await read(`${time(1)} one\n${time(2)} ${long}`, "")
  const grown = await read(`${time(1)} one\n${time(2)} ${long}${long}\n${time(3)} three\n`, first.next)

  assert.deepEqual(first.lines, ["one", long.slice(0, maxRawBytes)])
  assert.deepEqual(grown.lines, ["three"])
})

test("a long log is read in parts, each line once", async () => {
  const text = Array.from({ length: 4000 }, (_, n) => {
    const time = new Date(Date.UTC(2026, 0, 1) + Math.floor(n / 7)).toISOString().replace("Z", "000000Z")
    return `${time} ${n} ${"x".repeat(1000)}\n`
  }).join("")
  const found: string[] = []
  let [from, reads] = ["", 0]

  for (;;) {
    const { lines, next } = await readPodLog(chunksOf(text), asked(from))
    if (next === from) break
    found.push(...lines.map((line) => line.split(" ", 1)[0] ?? ""))
    from = next
    reads += 1
  }

  assert.ok(reads > 2)
  const all = Array.from({ length: 4000 }, (_, n) => String(n))
  assert.deepEqual(found, all)
})

test("of a log that lacks the line that was read last, no more is taken into memory than for one read", async () => {
  const time = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString().replace("Z", "000000Z")
  const newest = time(0)
  const place = { lifeId: "1_a", sinceMs: 0, last: { time: newest, count: 1 }, newest }
  let taken = 0
  async function* log() {
    for (taken = 0; taken < 10_000; taken++) yield Buffer.from(`${time(taken + 1)} ${"x".repeat(1000)}\n`)
  }

  const { lines } = await readPodLog(log(), { from: JSON.stringify(place), place, hasEnded: false })

  assert.equal(lines.length, taken + 1)
  assert.ok(taken < 10_000 / 2, `${taken} lines were taken`)
})
