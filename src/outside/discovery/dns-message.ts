import { decode } from 'dns-packet'

/** What an answer of multicast DNS says that matters to who looks for services. Names as they are, without a last dot. */
export type DnsRecord = { name: string; seconds: number } & (
  | { type: 'PTR'; target: string }
  | { type: 'SRV'; target: string; port: number }
  | { type: 'TXT'; texts: Buffer[] }
  | { type: 'A' | 'AAAA'; address: string; flush: boolean }
)

export interface DnsQuestion {
  /** Labels: the name of an instance is one, and may have dots. */
  labels: readonly string[]
  type: keyof typeof typeNumbers
}

/** Bytes of one message; RFC 6762, section 17. */
const messageLimit = 9_000
/** Things in one message: reading a name takes longer than its bytes would tell. */
const recordLimit = 300
/** Bytes of one question at most are fewer; what is sent is to fit into one frame of an Ethernet. */
const queryLimit = 1_200
const headerLength = 12
const typeNumbers = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33 } as const
const internet = 1

/** The records of an answer; none of what is no answer, or cannot be read. */
export function readAnswer(message: Buffer): DnsRecord[] {
  if (message.length < headerLength || message.length > messageLimit) return []
  // An answer has the first bit set; of its other bits only zero says something that is meant for many.
  if ((message.readUInt16BE(2) & 0xf80f) !== 0x8000) return []
  const counted = [4, 6, 8, 10].reduce((sum, at) => sum + message.readUInt16BE(at), 0)
  if (counted > recordLimit) return []
  try {
    const { answers = [], additionals = [] } = decode(message)
    return [...answers, ...additionals].flatMap(readRecord)
  } catch {
    return []
  }
}

function readRecord(record: NonNullable<ReturnType<typeof decode>['answers']>[number]): DnsRecord[] {
  if (!('ttl' in record) || record.class !== 'IN') return []
  const head = { name: record.name, seconds: record.ttl ?? 0 }
  switch (record.type) {
    case 'PTR':
      return [{ ...head, type: 'PTR', target: record.data }]
    case 'SRV':
      return [{ ...head, type: 'SRV', target: record.data.target, port: record.data.port }]
    case 'TXT':
      return [{ ...head, type: 'TXT', texts: [record.data].flat().map((text) => Buffer.from(text)) }]
    case 'A':
    case 'AAAA':
      return [{ ...head, type: record.type, address: record.data, flush: record.flush === true }]
    default:
      return []
  }
}

/** As few messages as they fit into. */
export function writeQueries(questions: Iterable<DnsQuestion>): Buffer[] {
  const messages: Buffer[] = []
  let parts: Buffer[] = []
  let bytes = headerLength
  const finish = (): void => {
    if (parts.length === 0) return
    const header = Buffer.alloc(headerLength)
    header.writeUInt16BE(parts.length, 4)
    messages.push(Buffer.concat([header, ...parts]))
    parts = []
    bytes = headerLength
  }
  for (const question of questions) {
    const part = writeQuestion(question)
    if (bytes + part.length > queryLimit) finish()
    parts.push(part)
    bytes += part.length
  }
  finish()
  return messages
}

/** By hand: the library takes a dot for the end of a label, and names of instances have dots. */
function writeQuestion({ labels, type }: DnsQuestion): Buffer {
  const name = labels.flatMap((label) => {
    const bytes = Buffer.from(label)
    return [Buffer.of(bytes.length), bytes]
  })
  return Buffer.concat([...name, Buffer.of(0, 0, typeNumbers[type], 0, internet)])
}
