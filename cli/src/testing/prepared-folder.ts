/** A folder in which `superstep` was started before, as far as its Postgres goes: what `initdb` does takes a second or more. */
import { join } from "node:path"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

/** @returns the folder, a new one unless told */
export async function preparedFolder(folder: string = temporaryFolder()): Promise<string> {
  await preparedCluster(join(folder, ".superstep", "postgres"))
  return folder
}
