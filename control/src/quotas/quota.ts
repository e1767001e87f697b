/** The quotas of a workspace, and how its deployments count. Pure. */

export const quotaNames = ["deployments", "units", "memory_mb", "cpu", "builds", "disk_mb", "host_names"] as const
export type QuotaName = (typeof quotaNames)[number]

/** An amount for each quota, or of its use. */
export type Amounts = Readonly<Record<QuotaName, number>>

/** What the operator has set for a workspace; null means the installation's default. */
export type OwnQuotas = Readonly<Record<QuotaName, number | null>>

export const nothing: Amounts = {
  deployments: 0,
  units: 0,
  memory_mb: 0,
  cpu: 0,
  builds: 0,
  disk_mb: 0,
  host_names: 0,
}

const each = (of: (name: QuotaName) => number): Amounts => ({
  deployments: of("deployments"),
  units: of("units"),
  memory_mb: of("memory_mb"),
  cpu: of("cpu"),
  builds: of("builds"),
  disk_mb: of("disk_mb"),
  host_names: of("host_names"),
})

export const quotasOf = (own: OwnQuotas | undefined, defaults: Amounts): Amounts =>
  each((name) => own?.[name] ?? defaults[name])

export const sumOf = (amounts: readonly Amounts[]): Amounts =>
  each((name) => amounts.reduce((sum, it) => sum + it[name], 0))

export const difference = (wanted: Amounts, current: Amounts): Amounts => each((name) => wanted[name] - current[name])

/**
 * @param added  what a change adds; a reduction is never refused, even where the quota is exceeded already
 * @returns      the first quota that does not allow it
 */
export const exceededBy = (quotas: Amounts, used: Amounts, added: Amounts): QuotaName | undefined =>
  quotaNames.find((name) => added[name] > 0 && used[name] + added[name] > quotas[name])
