/**
 * A text without some characters at its end. An expression such as `/\/+$/` looks at each run of them anew from each of its characters,
 * which takes minutes for a long foreign text.
 * @param characters  each of which is removed
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}
