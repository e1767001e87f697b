/** The icons of the console: Lucide's shapes, which `scripts/console.mjs` takes from the data of `@iconify-json/lucide`, one by one. */
import activity from "lucide:activity"
import arrowDown from "lucide:arrow-down"
import arrowLeftRight from "lucide:arrow-left-right"
import arrowRight from "lucide:arrow-right"
import arrowUp from "lucide:arrow-up"
import arrowUpRight from "lucide:arrow-up-right"
import bookOpen from "lucide:book-open"
import bot from "lucide:bot"
import boxes from "lucide:boxes"
import brain from "lucide:brain"
import calendarClock from "lucide:calendar-clock"
import check from "lucide:check"
import chevronLeft from "lucide:chevron-left"
import chevronRight from "lucide:chevron-right"
import chevronsUpDown from "lucide:chevrons-up-down"
import circleCheck from "lucide:circle-check"
import circleDashed from "lucide:circle-dashed"
import circleStop from "lucide:circle-stop"
import copy from "lucide:copy"
import database from "lucide:database"
import filter from "lucide:filter"
import gauge from "lucide:gauge"
import gitBranch from "lucide:git-branch"
import gitCommitHorizontal from "lucide:git-commit-horizontal"
import hand from "lucide:hand"
import menu from "lucide:menu"
import messageSquareReply from "lucide:message-square-reply"
import messagesSquare from "lucide:messages-square"
import minus from "lucide:minus"
import monitor from "lucide:monitor"
import moon from "lucide:moon"
import paperclip from "lucide:paperclip"
import pencil from "lucide:pencil"
import play from "lucide:play"
import plus from "lucide:plus"
import rotateCcw from "lucide:rotate-ccw"
import history from "lucide:rotate-ccw-clock"
import rows3 from "lucide:rows-3"
import scrollText from "lucide:scroll-text"
import search from "lucide:search"
import settings from "lucide:settings"
import settings2 from "lucide:settings-2"
import slidersHorizontal from "lucide:sliders-horizontal"
import square from "lucide:square"
import sun from "lucide:sun"
import terminal from "lucide:terminal"
import trash2 from "lucide:trash"
import triangleAlert from "lucide:triangle-alert"
import user from "lucide:user"
import wrench from "lucide:wrench"
import x from "lucide:x"
import type { ReactElement, SVGProps } from "react"

interface IconProps extends SVGProps<SVGSVGElement> {
  /** In pixels. */
  readonly size?: number
}

export type Icon = (props: IconProps) => ReactElement

function icon(shape: string): Icon {
  return function Shape({ size = 24, ...props }) {
    // biome-ignore lint/security/noDangerouslySetInnerHtml: a constant of the build
    return <svg width={size} height={size} viewBox="0 0 24 24" {...props} dangerouslySetInnerHTML={{ __html: shape }} />
  }
}

export const Activity = icon(activity)
export const ArrowDown = icon(arrowDown)
export const ArrowLeftRight = icon(arrowLeftRight)
export const ArrowRight = icon(arrowRight)
export const ArrowUp = icon(arrowUp)
export const ArrowUpRight = icon(arrowUpRight)
export const BookOpen = icon(bookOpen)
export const Bot = icon(bot)
export const Boxes = icon(boxes)
export const Brain = icon(brain)
export const CalendarClock = icon(calendarClock)
export const Check = icon(check)
export const ChevronLeft = icon(chevronLeft)
export const ChevronRight = icon(chevronRight)
export const ChevronsUpDown = icon(chevronsUpDown)
export const CircleCheck = icon(circleCheck)
export const CircleDashed = icon(circleDashed)
export const CircleStop = icon(circleStop)
export const Copy = icon(copy)
export const Database = icon(database)
export const Filter = icon(filter)
export const Gauge = icon(gauge)
export const GitBranch = icon(gitBranch)
export const GitCommitHorizontal = icon(gitCommitHorizontal)
export const Hand = icon(hand)
export const History = icon(history)
export const MessageSquareReply = icon(messageSquareReply)
export const MessagesSquare = icon(messagesSquare)
export const Minus = icon(minus)
export const Paperclip = icon(paperclip)
export const Pencil = icon(pencil)
export const Play = icon(play)
export const Plus = icon(plus)
export const RotateCcw = icon(rotateCcw)
export const Rows3 = icon(rows3)
export const ScrollText = icon(scrollText)
export const Search = icon(search)
export const Settings = icon(settings)
export const Settings2 = icon(settings2)
export const SlidersHorizontal = icon(slidersHorizontal)
export const Square = icon(square)
export const Terminal = icon(terminal)
export const Trash2 = icon(trash2)
export const TriangleAlert = icon(triangleAlert)
export const User = icon(user)
export const Wrench = icon(wrench)
export const X = icon(x)
export const Menu = icon(menu)
export const Monitor = icon(monitor)
export const Moon = icon(moon)
export const Sun = icon(sun)
