/** Finds the package managers of this machine. */
import { access, constants } from "node:fs/promises"
import { delimiter, join } from "node:path"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { isReachable } from "@superstep/toolkit/postgres/postgres-user"

/** The programs that a plan may use. */
export const packageManagers = ["npm", "yarn", "pnpm", "bun", "uv"]

/**
 * @param path  as in the environment variable PATH
 * @param user  the user who starts them; our own when undefined
 */
export async function toolsOnPath(path: string, user?: OsUser): Promise<ReadonlySet<string>> {
  const folders = path.split(delimiter).filter((folder) => folder !== "")
  const found = await Promise.all(
    packageManagers.map(async (name) => {
      const looks = folders.map((folder) => isStartable(join(folder, name), user))
      return (await Promise.all(looks)).includes(true) ? [name] : []
    }),
  )
  return new Set(found.flat())
}

const isStartable = (path: string, user: OsUser | undefined): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => isReachable(path, user),
    () => false,
  )
