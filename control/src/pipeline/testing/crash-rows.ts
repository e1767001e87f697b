/** Where tests kill the control plane while a revision is deployed: the named points of planner/crash-points.ts. */

/** One revision dies at all of them, one after the other. */
export const pointsOfEachStage: readonly string[] = [
  "fetch:after-tree",
  "build:after-publish",
  "unit:after-spawn",
  "switch:after-activate",
  "table:after-row",
  "verify:before-advance",
  "watch:after-end",
  "unit:after-remove",
]

/** Each revision dies at all points of its row; two deaths in one stage are allowed. */
export const pointsOfRevisions: readonly (readonly string[])[] = [
  pointsOfEachStage,
  ["queue:begin", "fetch:after-resolve", "build:after-start", "deploy:after-unit-row", "switch:before-push"],
  ["queue:after-provision", "fetch:after-fetch", "build:after-artifact-row", "deploy:after-start", "switch:after-push"],
  ["queue:after-advance", "build:begin", "build:before-advance", "switch:begin", "switch:after-commit"],
  ["fetch:begin", "fetch:after-advance", "build:after-advance", "deploy:begin", "deploy:after-advance"],
  ["switch:after-advance", "verify:begin", "verify:after-advance", "unit:after-stop"],
]
