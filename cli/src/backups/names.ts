/** The names of scheduled backups: installations may share a folder, and other files in it are never touched. Pure. */

const prefix = (homeId: string): string => `superstep-${homeId.slice(0, 8)}-`

/** @returns  such as `superstep-1b4e28ba-20260131T020000Z.tar.gz` */
export const backupName = (homeId: string, at: Date): string =>
  `${prefix(homeId)}${at.toISOString().replace(/[-:]|\.\d+/g, "")}.tar.gz`

const time = /^\d{8}T\d{6}Z\.tar\.gz$/

/** The backups of this installation beyond the newest ones. @param made  the one just made, however a clock has named others */
export function superseded(names: readonly string[], homeId: string, keep: number, made: string): string[] {
  const isOwn = (name: string) => name.startsWith(prefix(homeId)) && time.test(name.slice(prefix(homeId).length))
  const others = names.filter((name) => name !== made && isOwn(name))
  return others
    .sort()
    .reverse()
    .slice(keep - 1)
}
