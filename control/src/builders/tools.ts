/** Which package managers this machine has. */
import { access, constants } from "node:fs/promises"
import { delimiter, join } from "node:path"

const names = ["npm", "yarn", "pnpm", "bun"]

/** @param path  as in the environment variable PATH */
export async function toolsOnPath(path: string): Promise<ReadonlySet<string>> {
  const folders = path.split(delimiter).filter((folder) => folder !== "")
  const found = await Promise.all(
    names.map(async (name) => {
      const looks = folders.map((folder) => access(join(folder, name), constants.X_OK))
      return Promise.any(looks).then(
        () => [name],
        () => [],
      )
    }),
  )
  return new Set(found.flat())
}
