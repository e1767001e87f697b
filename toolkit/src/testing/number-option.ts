/** A number on the command line of a campaign. A text that is none is refused: a campaign would never begin with it, or never end. */

export interface NumberLimits {
  readonly least?: number
  /** Whether it may have a fraction, as minutes may. */
  readonly isWhole?: boolean
}

/**
 * @param name  of the option, without its dashes
 * @throws TypeError  for a person, who has written it
 */
export function numberOption(name: string, text: string, { least = 0, isWhole = true }: NumberLimits = {}): number {
  const value = Number(text)
  if ((isWhole ? /^\d+$/ : /^\d+(\.\d+)?$/).test(text) && value >= least) return value
  throw new TypeError(`--${name} ${text}: expected a ${isWhole ? "whole number" : "number"} from ${least}`)
}
