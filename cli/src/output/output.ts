/** The output of a command: a stream and its styles. Colours only on a terminal that supports them. */
import { styleText } from "node:util"

type Format = Parameters<typeof styleText>[0]

export interface Output {
  readonly isTerminal: boolean
  /** Writes one line. */
  line(text?: string): void
  /** Writes text unchanged. */
  write(text: string): void
  /** The text in a style, or unchanged without colours. */
  style(format: Format, text: string): string
}

/** A terminal's `hasColors` looks at NO_COLOR, FORCE_COLOR and TERM; a file or pipe has none. */
export function outputTo(stream: NodeJS.WriteStream): Output {
  const colored = stream.isTTY === true && stream.hasColors()
  return {
    isTerminal: stream.isTTY === true,
    line: (text = "") => stream.write(`${text}\n`),
    write: (text) => stream.write(text),
    style: (format, text) => (colored ? styleText(format, text) : text),
  }
}
