/** The output of a command: a stream and its styles. Colours only on a terminal that supports them. */
import { styleText } from "node:util"

type Format = Parameters<typeof styleText>[0]

export interface Output {
  readonly isTerminal: boolean
  /** Writes one line. */
  line(text?: string): void
  /** Writes text unchanged. */
  write(text: string): void
  /**
   * Writes the start of a line that is completed later.
   * @returns  a function that completes it; if other lines came between, it writes the start again
   */
  beginLine(text: string): (end: string) => void
  /** The text in a style, or unchanged without colours. */
  style(format: Format, text: string): string
}

/** At most one line is incomplete. Two streams may share a terminal, so it is known to both. */
let begun: { readonly stream: NodeJS.WriteStream; isBroken: boolean } | undefined

/** A terminal's `hasColors` looks at NO_COLOR, FORCE_COLOR and TERM; a file or pipe has none. */
export function outputTo(stream: NodeJS.WriteStream): Output {
  const colored = stream.isTTY === true && stream.hasColors()
  return {
    isTerminal: stream.isTTY === true,
    line: (text = "") => {
      breakBegun(stream)
      stream.write(`${text}\n`)
    },
    write: (text) => stream.write(text),
    beginLine: (text) => {
      breakBegun(stream)
      const line = { stream, isBroken: false }
      begun = line
      stream.write(text)
      return (end) => {
        if (begun === line) begun = undefined
        stream.write(line.isBroken ? `${text}${end}\n` : `${end}\n`)
      }
    },
    style: (format, text) => (colored ? styleText(format, text) : text),
  }
}

/** Ends the incomplete line, if text on this stream would continue it. */
function breakBegun(stream: NodeJS.WriteStream): void {
  if (begun === undefined || begun.isBroken) return
  if (begun.stream !== stream && !(begun.stream.isTTY && stream.isTTY)) return
  begun.isBroken = true
  begun.stream.write("\n")
}
