/** Options that several commands share, each with one parser, so that they mean the same everywhere. */
import { InvalidArgumentError, Option } from "commander"

/** @throws InvalidArgumentError  with a message that commander appends to the option's name */
function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port
  throw new InvalidArgumentError("expected a port, a number from 1 to 65535.")
}

/** @throws InvalidArgumentError  unless it is a whole number above 0 */
export function parseCount(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new InvalidArgumentError("expected a whole number above 0.")
}

/** @param fallback  commander's own default; without one the command decides, and names it in the description */
export const portOption = (flags: string, description: string, fallback?: number): Option =>
  new Option(flags, description).argParser(parsePort).default(fallback)

export const hostOption = (): Option => new Option("--host <address>", "address to listen on").default("127.0.0.1")

export const homeOption = (): Option => new Option("--home <folder>", "data folder (default: .superstep)")

export const jsonOption = (): Option => new Option("--json", "print JSON")
