/** A container of the test node: a process in namespaces of its own, with the files of an image on top of the programs of this computer. */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

export interface Mount {
  /** A folder, or a file. */
  readonly from: string
  readonly to: string
  readonly readOnly?: boolean | undefined
}

export interface ContainerSpec {
  /** Contains the files of the image. */
  readonly root: string
  readonly workingDir: string
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: number
  readonly mounts: readonly Mount[]
  readonly memoryBytes: number | undefined
}

export interface LogLine {
  readonly time: string
  readonly text: string
}

export interface Ended {
  readonly exitCode: number
  readonly reason: "Completed" | "Error" | "OOMKilled"
}

// Programs and libraries are those of this computer, as if they were the base image.
const enter = `set -e
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
for name in usr lib lib64 bin sbin etc; do
  [ -e "/$name" ] || continue
  mkdir -p "$root/$name"; mount --rbind "/$name" "$root/$name"; mount -o remount,bind,ro "$root/$name"
done
mkdir -p "$root/proc" "$root/dev"; mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"; mkdir -m 1777 "$root/dev/shm"; ln -s /proc/self/fd "$root/dev/fd"
for name in null zero full random urandom; do : >"$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
while [ "$1" != -- ]; do
  if [ -d "$2" ]; then mkdir -p "$root$3"; else : >>"$root$3"; fi
  mount --bind "$2" "$root$3"; mount -o "remount,bind,$1" "$root$3"; shift 3
done
shift
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"`

/** What runs a command as the user of the container, with its variables and no others. */
const asUser = ({ user, workingDir, environment }: ContainerSpec): readonly string[] => [
  ...["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--no-new-privs"],
  ...["--inh-caps=-all", "--bounding-set=-all", "env", "-i", "-C", workingDir],
  ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
]

export class TestContainer {
  readonly lines: LogLine[] = []
  readonly ended: Promise<Ended>
  readonly #spec: ContainerSpec
  readonly #child: ChildProcess
  readonly #watchers = new Set<() => void>()
  #isOut = false
  #end: Ended | undefined
  #rest = ""

  constructor(spec: ContainerSpec) {
    this.#spec = spec
    const mounts = spec.mounts.flatMap(({ from, to, readOnly = false }) => [readOnly ? "ro" : "rw", from, to])
    const inner = [spec.root, ...mounts, "--", ...asUser(spec), ...spec.command]
    const args = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", ...inner]
    mkdirSync(spec.root, { recursive: true })
    this.#child = spawn("unshare", args, { stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.print(text))
    const watch = setInterval(() => {
      if (spec.memoryBytes === undefined || this.usedBytes() <= spec.memoryBytes) return
      this.#isOut = true
      this.signal("SIGKILL")
    }, 50)
    this.ended = once(this.#child, "close").then(([code, signal]: unknown[]) => {
      clearInterval(watch)
      if (this.#rest !== "") this.print("\n")
      const exitCode = typeof code === "number" ? code : signal === "SIGKILL" ? 137 : 143
      this.#end = { exitCode, reason: this.#isOut ? "OOMKilled" : exitCode === 0 ? "Completed" : "Error" }
      this.#changed()
      return this.#end
    })
  }

  get end(): Ended | undefined {
    return this.#end
  }

  /** Of the process that is the first one inside. */
  get pid(): number {
    return childrenOf(this.#child.pid ?? 0)[0] ?? 0
  }

  /** To the first process; with SIGKILL all others end, too. */
  signal(signal: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this
    if (pid > 0) process.kill(pid, signal)
    else if (signal === "SIGKILL") this.#child.kill("SIGKILL")
  }

  /** Runs one more command in it. @returns  what it prints @throws when it exits with another code than 0 */
  async exec(command: readonly string[]): Promise<string> {
    const place = ["--target", String(this.pid), "--mount", "--pid", "--root", "--"]
    const { stdout } = await promisify(execFile)("nsenter", [...place, ...asUser(this.#spec), ...command])
    return stdout
  }

  usedBytes(): number {
    const { pid } = this
    return pid === 0 ? 0 : [pid, ...descendantsOf(pid)].reduce((sum, it) => sum + residentBytes(it), 0)
  }

  onChange(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Adds to its output. */
  print(text: string): void {
    const lines = (this.#rest + text).split("\n")
    this.#rest = lines.pop() ?? ""
    const time = new Date().toISOString().replace("Z", "000000Z")
    this.lines.push(...lines.map((line) => ({ time, text: line })))
    this.#changed()
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

const childrenOf = (pid: number): number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  } catch {
    // It has ended.
    return []
  }
}

const descendantsOf = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

const residentBytes = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096
  } catch {
    return 0
  }
}

/** Why such containers cannot run here; undefined when they can. */
export function whyNoContainers(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, for namespaces"
  if (!existsSync(join("/usr/bin", "setpriv"))) return "needs setpriv"
  const tried = spawnSync("unshare", ["--mount", "--pid", "--fork", "sh", "-c", "mount --make-rprivate /"])
  return tried.status === 0 ? undefined : "needs the right to create namespaces"
}
