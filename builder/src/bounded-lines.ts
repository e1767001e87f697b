/** Cuts a stream of bytes into lines, and a flood of lines to what a log can hold. Pure, apart from the callbacks. */

// More than a log line keeps; a program that prints no line end must not fill our memory.
const maxLineLength = 32 * 1024

/** @returns  `push` takes chunks; `end` passes on the last line, which may lack its line end */
export function lineSplitter(onLine: (line: string) => void): { push(chunk: string): void; end(): void } {
  let rest = ""
  const add = (text: string) => {
    if (rest.length < maxLineLength) rest += text.slice(0, maxLineLength - rest.length)
  }
  const flush = () => {
    onLine(rest.replace(/\r$/, ""))
    rest = ""
  }
  const push = (chunk: string) => {
    const [first = "", ...others] = chunk.split("\n")
    add(first)
    for (const line of others) {
      flush()
      add(line)
    }
  }
  return { push, end: () => rest !== "" && flush() }
}

// Each stored line is a row besides its text, so many short lines are a flood as well.
const lineOverhead = 200

/**
 * Passes the first lines on, then keeps only the last ones: how a step ended is printed at its end.
 * @param most  bytes, rows included, that are passed on before lines are dropped
 * @param last  lines that are kept from then on
 */
export function floodGate(
  onLine: (line: string) => void,
  { most, last }: { readonly most: number; readonly last: number },
): { push(line: string): void; end(): void } {
  let bytes = 0
  let dropped = 0
  let kept: string[] = []
  const push = (line: string) => {
    bytes += line.length + lineOverhead
    if (bytes <= most) return onLine(line)
    kept.push(line)
    if (kept.length < 2 * last) return
    dropped += kept.length - last
    kept = kept.slice(-last)
  }
  const end = () => {
    const shown = kept.slice(-last)
    dropped += kept.length - shown.length
    if (dropped > 0)
      onLine(
        `… ${dropped} lines left out: the log of a step is limited to ${Math.round(most / 1024)} KiB and its last lines …`,
      )
    for (const line of shown) onLine(line)
    kept = []
    dropped = 0
  }
  return { push, end }
}
