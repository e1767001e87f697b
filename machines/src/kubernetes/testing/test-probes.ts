/** The probes of a container of the test node, as a kubelet asks them. */
import { pause } from "@superstep/toolkit/exec/pause"

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number }
  readonly periodSeconds?: number
  readonly timeoutSeconds?: number
  readonly failureThreshold?: number
}

export interface ProbedContainer {
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
}

export interface Probed {
  readonly ip: string
  /** Called at each change. A container with a readiness probe is not ready at first; any other always is. */
  setReady(isReady: boolean): Promise<void>
  /** It is dead, or has not started in time. */
  kill(): void
}

/** Asks until the signal. Resolves when all has ended. */
export async function askProbes(container: ProbedContainer, probed: Probed, signal: AbortSignal): Promise<void> {
  const { startupProbe, readinessProbe, livenessProbe } = container
  const ask = (probe: Probe, answered: (isWell: boolean, failures: number) => Promise<boolean> | boolean) =>
    repeat(probe, { url: urlOf(container, probed.ip, probe), signal, answered })
  // Each stops when its `answered` returns true.
  const killAfter =
    (most: number, endsWell: boolean) =>
    (isWell: boolean, failures: number): boolean => {
      if (isWell) return endsWell
      if (failures < most) return false
      probed.kill()
      return true
    }
  if (startupProbe) await ask(startupProbe, killAfter(startupProbe.failureThreshold ?? 3, true))
  let isReady = false
  const setReady = async (isReadyNow: boolean) => {
    if (isReady !== isReadyNow) await probed.setReady(isReadyNow)
    isReady = isReadyNow
  }
  const readiness = async () => {
    if (!readinessProbe) return
    const most = readinessProbe.failureThreshold ?? 3
    await ask(readinessProbe, async (isWell, failures) => {
      if (isWell || failures >= most) await setReady(isWell)
      return false
    })
  }
  await Promise.all([
    readiness(),
    livenessProbe && ask(livenessProbe, killAfter(livenessProbe.failureThreshold ?? 3, false)),
  ])
}

interface Asked {
  readonly url: string
  readonly signal: AbortSignal
  answered(isWell: boolean, failures: number): Promise<boolean> | boolean
}

async function repeat(
  { periodSeconds = 10, timeoutSeconds = 1 }: Probe,
  { url, signal, answered }: Asked,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const isWell = await fetch(url, { signal: AbortSignal.timeout(timeoutSeconds * 1000) }).then(
      async (reply) => {
        await reply.arrayBuffer()
        return reply.status < 400
      },
      () => false,
    )
    failures = isWell ? 0 : failures + 1
    if (signal.aborted || (await answered(isWell, failures))) return
    await pause(periodSeconds * 1000, signal)
  }
}

function urlOf({ ports = [] }: ProbedContainer, ip: string, { httpGet: { path, port } }: Probe): string {
  const number = typeof port === "number" ? port : ports.find(({ name }) => name === port)?.containerPort
  if (number === undefined) throw new Error(`the container has no port ${port}`)
  return `http://${ip}:${number}${path}`
}
