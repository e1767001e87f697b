/** Provides an ssh key to ssh alone, while git runs: never in an argument, never in an environment. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { makeOwnFolder } from "@superstep/toolkit/files/own-folder"
import type { SshFiles } from "./git-command.js"
import type { GitCredentials } from "./git-location.js"

/**
 * Runs `work` with the files of these credentials, or with none without an ssh key. What a killed process leaves is removed
 * when the next one opens the data folder (`home.ts`).
 * @param folder  created with mode 0700
 */
export async function withSshFiles<T>(
  folder: string,
  credentials: GitCredentials | undefined,
  work: (files: SshFiles | undefined) => Promise<T>,
): Promise<T> {
  if (credentials?.kind !== "ssh_key") return work(undefined)
  await makeOwnFolder(folder, 0o700)
  const own = await mkdtemp(join(folder, "key-"))
  try {
    const write = async (name: string, text: string) => {
      const file = join(own, name)
      // ssh refuses a key that others may read, and one without a final line end.
      await writeFile(file, `${text.trimEnd()}\n`, { mode: 0o600, flag: "wx" })
      return file
    }
    const privateKey = await write("key", credentials.privateKey.reveal())
    const { knownHosts } = credentials
    return await work({
      privateKey,
      knownHosts: knownHosts === null ? undefined : await write("known_hosts", knownHosts),
    })
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}
