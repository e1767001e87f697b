/** How quick a page feels, measured in the page itself. The figures are printed, and no test depends on them. */
import type { Page } from "playwright-core"

const noteKeys = `
  globalThis.pressed = []
  document.addEventListener("keydown", (event) =>
    requestAnimationFrame(() => setTimeout(() => pressed.push(Math.round(performance.now() - event.timeStamp)))), true)`

/** From a key to the frame that shows its effect, for each of some presses. In milliseconds, sorted. */
export async function keyPressMs(page: Page, key: string, times: number): Promise<number[]> {
  await page.evaluate(noteKeys)
  for (let count = 0; count < times; count++) await page.keyboard.press(key)
  await page.waitForFunction(`pressed.length >= ${times}`)
  return page.evaluate<number[]>("pressed.sort((a, b) => a - b)")
}

/** The tasks of the page that took over 50 ms while something was done. In milliseconds, sorted. */
export async function longTasksMs(page: Page, work: () => Promise<unknown>): Promise<number[]> {
  await page.evaluate(`
    globalThis.longTasks = []
    globalThis.longTaskWatch = new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => Math.round(duration))))
    longTaskWatch.observe({ type: "longtask" })`)
  await work()
  await page.evaluate("longTaskWatch.disconnect()")
  return page.evaluate<number[]>("longTasks.sort((a, b) => a - b)")
}
