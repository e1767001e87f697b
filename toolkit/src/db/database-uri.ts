/** Connection strings: `postgres://user:password@host:port/database`, a Unix socket's folder as `?host=/folder`. */

export interface Address {
  /** A host name, or the folder of a Unix socket. */
  readonly host: string
  readonly port?: number
  readonly user: string
  readonly password: string
  readonly database: string
}

/** @returns  a connection string that `pg`, libpq and psycopg interpret alike */
export function databaseUri({ host, port = 5432, user, password, database }: Address): string {
  const isSocket = host.startsWith("/")
  const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
  // A URL needs a host to contain credentials; the parameter takes precedence over it.
  const uri = `postgres://${credentials}@${isSocket ? "localhost" : host}:${port}/${encodeName(database)}`
  return isSocket ? `${uri}?host=${encodeURIComponent(host)}` : uri
}

/**
 * The same server for another user or database; the rest of the string (TLS, options) stays.
 * @param change  the parts that differ
 */
export function changeUri(uri: string, change: { database?: string; user?: string; password?: string }): string {
  const url = new URL(uri)
  if (change.database !== undefined) url.pathname = `/${encodeName(change.database)}`
  if (change.user !== undefined) url.username = encodeURIComponent(change.user)
  if (change.password !== undefined) url.password = encodeURIComponent(change.password)
  return url.href
}

/** `pg` leaves these characters of a database's name encoded and libpq does not, so no string works for both. */
function encodeName(database: string): string {
  if (/[;/?:@&=+$,#]/.test(database))
    throw new Error(
      `the database name "${database}" contains one of ;/?:@&=+$,#, which connection strings do not support`,
    )
  return encodeURIComponent(database)
}
