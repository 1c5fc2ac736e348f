import Type, { type Static } from 'typebox'
import { baudRateLimit, serialChoices } from './connection-limits.ts'
import { Text, textLimits } from '../parsing/text.ts'

/** A serial port, and how it is set. */
export const SerialSettings = Type.Object({
  path: Type.Refine(Text(textLimits.name), (path) => path !== '' && !path.includes('\0')),
  /** Bits a second. */
  baudRate: Type.Integer({ minimum: 1, maximum: baudRateLimit }),
  dataBits: Type.Enum([...serialChoices.dataBits]),
  parity: Type.Enum([...serialChoices.parity]),
  stopBits: Type.Enum([...serialChoices.stopBits]),
})
export type SerialSettings = Static<typeof SerialSettings>
