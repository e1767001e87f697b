/** How a person is named in a header or a token: base64url of JSON, since headers must be ASCII and names need not be. Pure. */

export interface Person {
  readonly person_id: string
  readonly name: string
  readonly email: string
}

export const personText = ({ person_id, name, email }: Person): string =>
  Buffer.from(JSON.stringify({ person_id, name, email })).toString("base64url")

/** @param text  of a sender that is trusted @returns  undefined for anything that `personText` has not made */
export function personIn(text: string): Person | undefined {
  const { person_id, name, email } = (parsed(text) ?? {}) as Partial<Record<keyof Person, unknown>>
  const isPerson = typeof person_id === "string" && typeof name === "string" && typeof email === "string"
  return isPerson ? { person_id, name, email } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
}
