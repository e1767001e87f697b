/** When something is so full that one should look at it. Pure. */
export function toneOf(used: number, most: number): "good" | "warn" | "bad" {
  const part = most <= 0 ? (used > 0 ? 1 : 0) : used / most
  if (part >= 0.95) return "bad"
  return part >= 0.8 ? "warn" : "good"
}

/** Such as `in 12 days`, for a certificate; renewals happen 30 days before. */
export function expiryTone(expiresAt: string, now: number): "good" | "warn" | "bad" {
  const days = (Date.parse(expiresAt) - now) / 86_400_000
  if (days < 7) return "bad"
  return days < 21 ? "warn" : "good"
}
