/** A text that a person types as JSON. Pure. */

export type ParsedJson =
  | { readonly value: unknown; readonly problem: undefined }
  | { readonly value: undefined; readonly problem: string }

/** What is wrong with an empty text. */
export const noText = "Enter JSON: a text in quotes, a number, true, false, null, a list or an object."

/** @returns the value, or what is wrong as a sentence */
export function parseJson(text: string): ParsedJson {
  if (text.trim() === "") return { value: undefined, problem: noText }
  try {
    return { value: JSON.parse(text), problem: undefined }
  } catch (error) {
    return { value: undefined, problem: `This is no JSON: ${(error as Error).message}.` }
  }
}

export const jsonText = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 2))
