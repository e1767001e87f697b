/** A canary beside the revision that serves: its part of the threads, how its runs end, and what to do with it. */
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import { Label } from "react-aria-components/Label"
import { Slider, SliderOutput, SliderThumb, SliderTrack } from "react-aria-components/Slider"
import { shortId } from "../deployments/status.js"
import { Button, onlyReads } from "../frame/button.js"
import { Confirm } from "../frame/dialog.js"
import { Problem } from "../frame/problem.js"
import type { Deployment, Revision } from "../platform/types.js"
import { usePlatform } from "../platform/use-platform.js"
import { usePost } from "./deployment-actions.js"

export function Canary({ revision, deployment }: { revision: Revision; deployment: Deployment }) {
  const { mayWrite } = usePlatform()
  const post = usePost(deployment.id)
  const present = revision.traffic?.weight ?? 0
  // Until the slider is moved it follows the canary, whose part others may change.
  const [moved, setMoved] = useState<number>()
  const weight = moved ?? present
  const setting = useMutation({
    mutationFn: () => post(`revisions/${revision.id}/traffic`, { weight }),
    onSuccess: () => setMoved((now) => (now === weight ? undefined : now)),
  })
  const disabledBecause = mayWrite ? undefined : onlyReads
  const runs = revision.traffic?.runs
  return (
    <div className="canary">
      <Slider
        minValue={1}
        maxValue={99}
        value={weight}
        onChange={setMoved}
        isDisabled={!mayWrite}
        className="canary-slider"
      >
        <Label>Its part of the threads</Label>
        <SliderOutput className="number">{({ state }) => `${state.values[0]}%`}</SliderOutput>
        <SliderTrack className="canary-track">
          {({ state }) => (
            <>
              <span className="canary-fill" style={{ width: `${state.getThumbPercent(0) * 100}%` }} />
              <SliderThumb className="canary-thumb" />
            </>
          )}
        </SliderTrack>
      </Slider>
      <div className="canary-actions">
        <Button
          onPress={() => setting.mutate()}
          isPending={setting.isPending}
          disabledBecause={disabledBecause ?? (weight === present ? "Move the slider first." : undefined)}
        >
          Set
        </Button>
        <Confirm
          title={`Promote the canary ${shortId(revision.id)}?`}
          button={{ children: "Promote", look: "primary", disabledBecause }}
          confirm="Promote"
          act={() => post(`revisions/${revision.id}/promote`)}
        >
          It gets all threads and all requests, and becomes the revision that serves.
        </Confirm>
        <Confirm
          title={`Abort the canary ${shortId(revision.id)}?`}
          button={{ children: "Abort", look: "danger", disabledBecause }}
          confirm="Abort"
          isDangerous
          act={() => post(`revisions/${revision.id}/abort`)}
        >
          It loses its threads; the revision that serves continues them.
        </Confirm>
      </div>
      {runs && (
        <p className="faint">
          Since it gets threads, {runs.ended} of its runs ended, {runs.failed} of them failed.
        </p>
      )}
      {setting.error && <Problem error={setting.error} />}
    </div>
  )
}
