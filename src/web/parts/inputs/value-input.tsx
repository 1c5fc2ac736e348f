import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { decimalNumber, switchWord } from '../../../schema/plugin/control-value.ts'
import { pause } from '../../base/api.ts'
import { numberKeys, withPoint } from '../../base/typed-number.ts'
import { inputText, readableText, valueText } from '../../base/words.ts'
import type { InputKind } from './input-kind.ts'
import { Switch } from './switch.tsx'
import { literalText } from './literal-text.ts'

interface ValueInputProps {
  label: string
  input: InputKind
  value: unknown
  /** Sets it; false when it was refused, undefined when another value took its place. Does not throw. */
  onSet(value: unknown): Promise<boolean | undefined>
  /** What is typed or dragged at the moment; undefined when nothing is. */
  onTyping?(text: string | undefined): void
}

/** How long what was set is shown still, in milliseconds: what the plugin makes of it comes by the stream a moment later. */
const settleTime = 300

/** For what does not say whether it is on, such as a plug that only listens. */
const onOffButtons = [
  { value: true, label: 'On' },
  { value: false, label: 'Off' },
] as const

/** What one moves, chooses or types a value with, by its kind. */
export function ValueInput({ label, input, value, onSet, onTyping }: ValueInputProps) {
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const latest = useRef(typed)
  const switchButton = useRef<HTMLButtonElement>(null)
  const isPressed = useRef(false)
  const on = input.kind === 'switch' ? switchWord(valueText(value)) : undefined

  // What was pressed is gone once it is known whether it is on: the keyboard goes on at what stands there now.
  useLayoutEffect(() => {
    if (on === undefined) return
    if (isPressed.current && document.activeElement === document.body) switchButton.current?.focus()
    isPressed.current = false
  }, [on === undefined])

  function show(text: string | undefined): void {
    latest.current = text
    setTyped(text)
    onTyping?.(text)
  }

  async function set(next: unknown): Promise<void> {
    const sent = latest.current
    const taken = await onSet(next)
    if (taken === true) await pause(settleTime)
    // What has been typed or moved meanwhile stays.
    if (taken === undefined || latest.current !== sent) return
    // A slider goes back to where it was; what was typed stays, to be put right.
    if (taken || (input.kind !== 'number' && input.kind !== 'text')) show(undefined)
  }

  const buttons = (all: Extract<InputKind, { kind: 'buttons' }>['buttons']) => (
    <div class="actions">
      {all.map((button) => (
        <button
          key={button.label}
          type="button"
          aria-label={`${label}: ${button.label}`}
          onClick={() => {
            isPressed.current = true
            void set(button.value)
          }}
        >
          {button.label}
        </button>
      ))}
    </div>
  )
  const known = inputText(value)
  switch (input.kind) {
    case 'switch':
      // It would stand at off, and could never be switched off.
      if (on === undefined) return buttons(onOffButtons)
      return <Switch label={label} on={on} button={switchButton} onChange={(next) => void set(next)} />
    case 'slider':
      return (
        <input
          type="range"
          aria-label={label}
          min={input.min}
          max={input.max}
          step={input.step}
          value={typed ?? String(Number(value))}
          // It stands at the nearest step, and somewhere where there is no value.
          aria-valuetext={typed ?? (known === '' ? 'not known' : readableText(value))}
          onInput={({ currentTarget }) => show(currentTarget.value)}
          onChange={({ currentTarget }) => void set(Number(currentTarget.value))}
        />
      )
    case 'choice':
      return (
        <select
          aria-label={label}
          value={typed ?? known}
          onChange={({ currentTarget }) => {
            if (currentTarget.value === '') return
            show(currentTarget.value)
            void set(currentTarget.value)
          }}
        >
          {input.options.includes(known) ? null : <option value={known}>{known === '' ? '–' : known}</option>}
          {input.options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      )
    case 'buttons':
      return buttons(input.buttons)
    case 'colour':
      return (
        <input
          type="color"
          aria-label={label}
          value={typed ?? colourOf(value)}
          onInput={({ currentTarget }) => show(currentTarget.value)}
          onChange={({ currentTarget }) => void set(numbersOf(currentTarget.value))}
        />
      )
    default:
      return (
        <form
          class="set"
          onSubmit={(event) => {
            event.preventDefault()
            const text = typed ?? known
            // What is no number goes to the host as it is, which says what is wrong with it.
            void set((input.kind === 'number' ? decimalNumber(withPoint(text)) : undefined) ?? text)
          }}
        >
          <input
            aria-label={label}
            inputMode={input.kind === 'number' ? numberKeys(input.min) : 'text'}
            {...literalText}
            value={typed ?? known}
            onInput={({ currentTarget }) => show(currentTarget.value)}
          />
          <button type="submit" aria-label={`Set ${label}`}>
            Set
          </button>
        </form>
      )
  }
}

function colourOf(value: unknown): string {
  const parts = /^(\d{1,3}), ?(\d{1,3}), ?(\d{1,3})$/.exec(valueText(value))?.slice(1) ?? ['0', '0', '0']
  return `#${parts.map((part) => Math.min(255, Number(part)).toString(16).padStart(2, '0')).join('')}`
}

function numbersOf(colour: string): string {
  return [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16)).join(',')
}
