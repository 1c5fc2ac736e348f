import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFolderReads } from '../../../src/repository/sources/folder-reads.ts'
import { createManualClock } from '../../helpers/manual-clock.ts'

/** Reads that end when they are told to, and what came of them. */
function stage() {
  const clock = createManualClock()
  const readFolder = createFolderReads({ clock, time: 10_000 })
  const begun: string[] = []
  const answers = new Map<string, (text: string) => void>()
  return {
    clock,
    begun,
    answer: (name: string) => answers.get(name)?.(name),
    read(folder: string, name: string): Promise<string> {
      const read = (): Promise<string> => {
        begun.push(name)
        return new Promise((resolve) => answers.set(name, resolve))
      }
      return readFolder(folder, read).catch((error: unknown) => String(error))
    },
  }
}

const notAnswered =
  'SourceError: the folder has not answered within 10 s; see to it that the machine or the disk is there that it is on'

test('of a folder that does not answer one read is under way, whoever asks, and none longer than ten seconds', async () => {
  const { clock, begun, answer, read } = stage()
  const all = ['first', 'second', 'third'].map((name) => read('/nas', name))
  const local = read('/starter', 'local')
  assert.deepEqual(begun, ['first', 'local'])
  answer('local')
  assert.equal(await local, 'local')
  clock.advance(10_000)
  assert.deepEqual(await Promise.all(all), [notAnswered, notAnswered, notAnswered])
  assert.equal(await read('/nas', 'fourth'), notAnswered)
  const next = read('/starter', 'next')
  answer('next')
  assert.equal(await next, 'next')
  assert.deepEqual(begun, ['first', 'local', 'next'])
})

test('a folder that answers late is read again from then on', async () => {
  const { clock, answer, read } = stage()
  const first = read('/nas', 'first')
  clock.advance(10_000)
  assert.equal(await first, notAnswered)
  answer('first')
  await Promise.resolve()
  const second = read('/nas', 'second')
  await Promise.resolve()
  answer('second')
  assert.equal(await second, 'second')
})

test('folders that do not answer take two of the four threads at most: others are refused until one of them does', async () => {
  const { clock, begun, answer, read } = stage()
  const late = [read('/nas/a', 'a'), read('/nas/b', 'b'), read('/starter', 'local')]
  clock.advance(10_000)
  const others = 'SourceError: other folders have to answer first: /nas/a, /nas/b; see to those'
  assert.deepEqual(await Promise.all(late), [notAnswered, notAnswered, others])
  assert.equal(await read('/starter', 'local'), others)
  answer('a')
  await Promise.resolve()
  const local = read('/starter', 'local')
  await Promise.resolve()
  answer('local')
  assert.equal(await local, 'local')
  assert.deepEqual(begun, ['a', 'b', 'local'])
})
