/** The status of a run. */
import { Badge, type Tone } from "../frame/badge.js"

const tones: Readonly<Record<string, Tone>> = {
  pending: "idle",
  running: "busy",
  success: "good",
  error: "bad",
  timeout: "bad",
  interrupted: "warn",
}

export const RunStatus = ({ status }: { status: string }) => (
  <Badge tone={tones[status] ?? "idle"} isMoving={status === "running"}>
    {status}
  </Badge>
)
