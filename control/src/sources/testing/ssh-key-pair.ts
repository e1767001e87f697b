/** Real ssh keys for tests, as ssh-keygen writes them. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"

export interface SshKeyPair {
  readonly privateKey: string
  /** Kind and key, without the comment. */
  readonly publicKey: string
  readonly privateKeyFile: string
}

export function sshKeyPair(kind: "ed25519" | "rsa" | "rsa-pem" | "ecdsa", passphrase = ""): SshKeyPair {
  const file = join(temporaryFolder(), "key")
  const form = kind === "rsa-pem" ? ["-t", "rsa", "-b", "2048", "-m", "PEM"] : ["-t", kind]
  execFileSync("ssh-keygen", ["-q", ...form, "-N", passphrase, "-C", "test", "-f", file])
  const [type, key] = readFileSync(`${file}.pub`, "utf8").split(" ")
  return { privateKey: readFileSync(file, "utf8"), publicKey: `${type} ${key}`, privateKeyFile: file }
}
