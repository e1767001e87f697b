/** The rights that a key can have. Pure. */
export const scopes = [
  { name: "read", about: "sees deployments, threads, runs and people" },
  { name: "run", about: "calls agents" },
  { name: "deploy", about: "changes deployments, sees changes of code" },
  { name: "secrets", about: "reads and changes secrets" },
  { name: "admin", about: "may do everything" },
] as const

/** Every key may read. */
export function toggled(chosen: readonly string[], scope: string, isOn: boolean): string[] {
  const wanted = new Set(chosen)
  if (isOn) wanted.add(scope)
  else wanted.delete(scope)
  wanted.add("read")
  return scopes.map(({ name }) => name).filter((name) => wanted.has(name))
}

const dayMs = 86_400_000

/** @returns  null for a key that never expires; undefined if the text is no number of days */
export function expiryOf(days: string, now: number): string | null | undefined {
  if (days.trim() === "") return null
  const count = Number(days)
  return Number.isInteger(count) && count >= 1 && count <= 36_500
    ? new Date(now + count * dayMs).toISOString()
    : undefined
}
