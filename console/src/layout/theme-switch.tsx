/** Chooses the colours: as the system, light, or dark. */
import { Radio, RadioGroup } from "react-aria-components/RadioGroup"
import { type Icon, Monitor, Moon, Sun } from "../frame/icons.js"
import { useKept } from "../frame/kept-choice.js"
import { type Theme, themeChoice, themes } from "../frame/theme.js"

const shown: Readonly<Record<Theme, readonly [name: string, icon: Icon]>> = {
  system: ["As the system", Monitor],
  light: ["Light", Sun],
  dark: ["Dark", Moon],
}

export function ThemeSwitch() {
  return (
    <RadioGroup
      className="theme-switch"
      aria-label="Colours"
      orientation="horizontal"
      value={useKept(themeChoice)}
      onChange={(theme) => themeChoice.keep(theme as Theme)}
    >
      {themes.map((theme) => {
        const [name, Shape] = shown[theme]
        return (
          <Radio key={theme} value={theme} className="theme-choice" aria-label={name}>
            <Shape size={14} aria-hidden />
          </Radio>
        )
      })}
    </RadioGroup>
  )
}
