/** A data folder with a Postgres cluster, as after an earlier start: `initdb` takes a second or more. */
import { join } from "node:path"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

/** @returns  the folder; a new one by default */
export async function preparedFolder(folder: string = temporaryFolder()): Promise<string> {
  await preparedCluster(join(folder, ".superstep", "postgres"))
  return folder
}
