/** @returns  256 random bits, as text that fits every git host's form */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
