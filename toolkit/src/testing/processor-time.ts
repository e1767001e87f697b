/** Tests compare processor time, never the clock: on a busy machine a clock also measures what other processes do. */

/**
 * Shows that work takes linear time, by a limit that it stays far below, and that work of squared time would exceed.
 * @returns  the processor time that this process used meanwhile, in milliseconds; with that of everything else that it did
 */
export async function processorMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
