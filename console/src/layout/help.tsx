/** The keys that work on every page, and the switch that turns the single ones off. */

import { Switch } from "../forms/switch.js"
import { Button } from "../frame/button.js"
import { OpenDialog } from "../frame/dialog.js"
import { useKept } from "../frame/kept-choice.js"
import type { PlaceGroup } from "./places.js"
import { letterKeys } from "./use-shortcuts.js"

interface HelpProps {
  readonly groups: readonly PlaceGroup[]
  readonly onClose: () => void
}

export function Help({ groups, onClose }: HelpProps) {
  const hasLetters = useKept(letterKeys) === "on"
  return (
    <OpenDialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        <Keys keys={["Ctrl", "K"]}>Go to a page, a deployment or a thread</Keys>
        <Keys keys={["/"]}>Search on this page</Keys>
        <Keys keys={["?"]}>Show this list</Keys>
        {groups.flatMap(({ deployment, places }) =>
          places.map(
            ({ key, label, to }) =>
              key !== undefined && (
                <Keys key={to} keys={["g", key]}>
                  {deployment === undefined ? label : `${label} of ${deployment}`}
                </Keys>
              ),
          ),
        )}
      </dl>
      <div className="dialog-actions">
        <Switch isSelected={hasLetters} onChange={(isOn) => letterKeys.keep(isOn ? "on" : "off")}>
          Keys without Ctrl
        </Switch>
        <Button onPress={onClose}>Close</Button>
      </div>
    </OpenDialog>
  )
}

const Keys = ({ keys, children }: { keys: readonly string[]; children: string }) => (
  <div>
    <dt>
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{children}</dd>
  </div>
)
