import Type, { type Static } from 'typebox'
import { Text, textLimits } from '../parsing/text.ts'
import { oneOf } from '../parsing/one-of.ts'

/** When something is to be done, as `plugin:at` and `plugin:cron` get it; the host reads the texts. */
const Zone = { timezone: Type.Optional(Text(textLimits.name)) }
/** Milliseconds for which a run that was missed is made up for. */
const CatchUp = { catchUp: Type.Optional(Type.Number({ minimum: 0 })) }
/** A day of the week, `mon` to `sun`. */
const daysOfWeek = 7

export const Schedule = Type.Union([
  Type.Object({ kind: Type.Literal('cron'), expression: Text(textLimits.name), ...Zone, ...CatchUp }),
  Type.Object({
    kind: Type.Literal('at'),
    /** `07:30`, `sunrise+00:30`. */
    time: Text(textLimits.name),
    days: Type.Optional(Type.Array(Text(textLimits.name), { maxItems: daysOfWeek })),
    latitude: Type.Optional(Type.Number()),
    longitude: Type.Optional(Type.Number()),
    ...Zone,
    ...CatchUp,
  }),
])
export type Schedule = Static<typeof Schedule>

/** What a plugin wants to hear of: objects by full path, or sensors and controls by `<full id>/<id>`. */
export const Watch = Type.Object({
  of: oneOf(['object', 'point']),
  pattern: Text(textLimits.name),
  /** Whether the present value is told, too. */
  now: Type.Boolean(),
  /** Milliseconds; 0: neither. */
  stays: Type.Number({ minimum: 0 }),
  debounce: Type.Number({ minimum: 0 }),
})
export type Watch = Static<typeof Watch>
