/** The title that `ps` and `top` show instead of a path: the deployment and the process's role. Pure. */

export type ProcessRole = "server" | "worker" | "gate"

/** @param name  the deployment's name; outside the platform the name of the project's folder */
export const processTitle = (name: string | undefined, role: ProcessRole): string =>
  ["superstep", ...(name === undefined ? [] : [name]), role].join(" ")
