/** The newest lines, and each further one as it is written. */
import { type LogAddress, useLog } from "../log-lines/use-log.js"
import { usePlatform } from "../platform/use-platform.js"
import { RuntimeLines, type RuntimeView } from "./runtime-lines.js"

export function LiveLog({ address, view }: { address: LogAddress; view: RuntimeView }) {
  const log = useLog(usePlatform(), address)
  return <RuntimeLines log={log} {...view} />
}
