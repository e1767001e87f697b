import assert from "node:assert/strict"
import { Writable } from "node:stream"
import { test } from "node:test"
import { outputTo } from "./output.js"

/** Streams to one screen. */
function screen() {
  let text = ""
  const stream = (isTTY: boolean) => {
    const sink = new Writable({
      write: (chunk, _, done) => {
        text += chunk
        done()
      },
    })
    return Object.assign(sink, { isTTY, hasColors: () => false }) as unknown as NodeJS.WriteStream
  }
  return { stream, text: () => text }
}

test("a line that is begun is completed in its place", () => {
  const { stream, text } = screen()
  const [out, err] = [outputTo(stream(true)), outputTo(stream(true))]

  const finish = err.beginLine("starting …")
  finish(" 2.8 s")
  out.line("next")

  assert.equal(text(), "starting … 2.8 s\nnext\n")
})

test("other lines on its terminal do not tear a line that is begun, which is written again when it is complete", () => {
  const { stream, text } = screen()
  const [out, err] = [outputTo(stream(true)), outputTo(stream(true))]

  const finish = err.beginLine("starting …")
  out.line("a log line")
  out.line("another")
  finish(" 2.8 s")

  assert.equal(text(), "starting …\na log line\nanother\nstarting … 2.8 s\n")
})

test("lines that go to a file do not break a line on the terminal", () => {
  const [file, terminal] = [screen(), screen()]
  const [out, err] = [outputTo(file.stream(false)), outputTo(terminal.stream(true))]

  const finish = err.beginLine("starting …")
  out.line("a log line")
  finish(" 2.8 s")

  assert.equal(terminal.text(), "starting … 2.8 s\n")
})
