/** An embedding without a model: each word increases one component of the vector, so texts that share words are near. */

export const dims = 64

export function embedWords(text: string): number[] {
  const vector = Array<number>(dims).fill(0)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const place = [...word].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) % dims, 7)
    vector[place] = (vector[place] ?? 0) + 1
  }
  return vector
}
