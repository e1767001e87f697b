/** Joins printed lines that belong together into one entry of the build's log: a traceback of Python, uv's list of packages. Pure, apart from the callback. */
import type { WriteLine } from "./build-log.js"

// A longer one is printed in pieces.
const mostLines = 500

const start = /^\s*(?:\+ Exception Group )?Traceback \(most recent call last\):$/
const group = /^\s*\+ Exception Group /
const chain =
  /^(?:During handling of the above exception, another exception occurred|The above exception was the direct cause of the following exception):$/

/** @returns  `push` takes lines; `end` passes on what has not ended */
export function gatherEntries(writeLine: WriteLine): { push(line: string): void; end(): void } {
  const tracebacks = gatherTracebacks(writeLine)
  let packages: string[] = []
  const endPackages = () => {
    if (packages.length > 0) tracebacks.push(` + ${packages.join(", ")}`)
    packages = []
  }
  return {
    push: (line) => {
      const [, name] = installed.exec(line) ?? []
      if (name !== undefined && packages.length < mostLines) return void packages.push(name)
      endPackages()
      tracebacks.push(line)
    },
    end: () => {
      endPackages()
      tracebacks.end()
    },
  }
}

// Such as ` + langgraph==1.2.22`.
const installed = /^ \+ (\S+)$/

function gatherTracebacks(writeLine: WriteLine): { push(line: string): void; end(): void } {
  let lines: string[] = []
  let isGroup = false
  /** The line that names the error is there; an error that was raised while it was handled may follow. */
  let isComplete = false

  const begin = (line: string) => {
    isGroup = group.test(line)
    isComplete = false
    lines.push(line)
  }
  const end = () => {
    if (lines.length > 0) writeLine(lines.join("\n").trimEnd(), "ERROR")
    lines = []
  }
  const push = (line: string) => {
    if (lines.length === 0 && !start.test(line)) return writeLine(line)
    if (lines.length === 0 || (start.test(line) && !isGroup)) return begin(line)
    const belongs = isGroup
      ? /^\s+[|+]/.test(line)
      : !isComplete || line === "" || chain.test(line) || (/^\s/.test(line) && lines.at(-1) !== "")
    if (!belongs || lines.length >= mostLines) {
      end()
      return push(line)
    }
    lines.push(line)
    if (!isGroup && /^\S/.test(line)) isComplete = !chain.test(line)
  }
  return { push, end }
}
