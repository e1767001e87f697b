/** How far back a list looks, in minutes. */
export const ages = { "1h": 60, "24h": 24 * 60, "7d": 7 * 24 * 60, "30d": 30 * 24 * 60 } as const
export type Age = keyof typeof ages

export const ageNames: Readonly<Record<Age, string>> = {
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
}

/** The moment at which that age begins. @param now  in milliseconds */
export const since = (age: Age, now: number): string => new Date(now - ages[age] * 60_000).toISOString()
