import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/base/text/json.ts'
import { openLuaModules } from '../../test/helpers/lua-modules.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const lua = openLuaModules(folder)
const read = (value: Json | undefined): unknown[] => lua.call('message', 'read', value)

test('a text is a message of normal priority for all channels', () => {
  assert.deepEqual(read('Hello'), [{ text: 'Hello', priority: 3, tags: {}, channels: {} }])
  assert.deepEqual(read(7.5), [{ text: '7.5', priority: 3, tags: {}, channels: {} }])
})

test('a table says more', () => {
  const message = { text: 'Water!', title: 'Cellar', link: 'https://example.com', priority: 'Urgent' }
  assert.deepEqual(read({ ...message, tags: ['warning', ' water '], channel: 'telegram, ntfy' }), [
    { ...message, priority: 5, tags: ['warning', 'water'], channels: ['telegram', 'ntfy'] },
  ])
})

for (const [what, value, reason] of [
  ['nothing', undefined, /not a nil/],
  ['a boolean', true, /not a boolean/],
  ['an empty text', '', /no text/],
  ['a table without text', { title: 'x' }, /no text/],
  ['a table for a text', { text: ['x'] }, /no text/],
  ['an unknown priority', { text: 'x', priority: 'loud' }, /priority/],
  ['a priority of six', { text: 'x', priority: 6 }, /priority/],
  ['half a priority', { text: 'x', priority: 2.5 }, /priority/],
] as [string, Json | undefined, RegExp][]) {
  test(`${what} is no message`, () => {
    const [message, problem] = read(value)
    assert.equal(message, undefined)
    assert.match(String(problem), reason)
  })
}

test('a channel is set up as soon as it has what it needs, and half of it is said', () => {
  assert.deepEqual(lua.call('channels', 'configured', { ntfyTopic: 'home', webhookUrl: '' }), [['ntfy'], {}])
  assert.deepEqual(lua.call('channels', 'configured', { telegramToken: '1:a' }), [
    {},
    ['telegram is left out: telegramChat is not set'],
  ])
})

const config = {
  telegramToken: '1:abc',
  telegramChat: '-42',
  ntfyTopic: 'home',
  ntfyServer: 'https://ntfy.example/',
  ntfyToken: 'tk_1',
  webhookUrl: 'https://chat.example/hook/x',
  webhookField: 'content',
  webhookToken: '',
}
const request = (channel: string, message: Json): any =>
  lua.call('channels', 'request', channel, config, message)[0]

test('Telegram gets HTML in which nothing of the message is markup', () => {
  const message = { text: 'a < b & c', title: '<Alarm>', priority: 2, tags: [], link: 'https://x/?a=1&b=2' }
  assert.deepEqual(request('telegram', message), {
    method: 'POST',
    url: 'https://api.telegram.org/bot1:abc/sendMessage',
    json: {
      chat_id: '-42',
      text: '<b>&lt;Alarm&gt;</b>\na &lt; b &amp; c\nhttps://x/?a=1&amp;b=2',
      parse_mode: 'HTML',
      disable_notification: true,
    },
  })
})

test('ntfy gets its own members, and a token', () => {
  const message = { text: 'Water!', title: 'Cellar', priority: 5, tags: ['warning'], link: 'https://x' }
  assert.deepEqual(request('ntfy', message), {
    method: 'POST',
    url: 'https://ntfy.example/',
    headers: { Authorization: 'Bearer tk_1' },
    json: {
      topic: 'home',
      message: 'Water!',
      title: 'Cellar',
      priority: 5,
      tags: ['warning'],
      click: 'https://x',
    },
  })
})

test('a webhook gets the whole message in the member that is named', () => {
  const message = { text: 'Water!', title: 'Cellar', priority: 3, tags: [] }
  assert.deepEqual(request('webhook', message), {
    method: 'POST',
    url: 'https://chat.example/hook/x',
    json: { content: 'Cellar\nWater!', title: 'Cellar', priority: 3 },
  })
})

test('what came of a request is read off the answer', () => {
  const outcome = (response: Record<string, Json>): unknown[] =>
    lua.call('channels', 'outcome', { ok: false, headers: {}, ...response })
  assert.deepEqual(outcome({ ok: true, status: 200 }), ['sent'])
  assert.deepEqual(outcome({ status: 0, err: 'connection refused' }), [
    'again',
    undefined,
    'connection refused',
  ])
  assert.deepEqual(outcome({ status: 503, err: 'HTTP 503', headers: { 'Retry-After': '7' } }), [
    'again',
    7,
    'HTTP 503',
  ])
  assert.deepEqual(
    outcome({ status: 429, err: 'HTTP 429: Too Many', json: { parameters: { retry_after: 9 } } }),
    ['again', 9, 'HTTP 429: Too Many'],
  )
  assert.deepEqual(outcome({ status: 401, err: 'HTTP 401: Unauthorized' }), [
    'refused',
    undefined,
    'HTTP 401: Unauthorized',
  ])
  assert.deepEqual(outcome({ status: 304 }), ['refused', undefined, 'HTTP 304'])
})

test('a text is cut where Telegram counts, and no character in half', () => {
  const cut = (text: string, most: number): unknown => lua.call('text', 'cut', text, most)[0]
  assert.deepEqual(
    [cut('Grüße', 5), cut('Grüße', 4), cut('🚿🚿🚿', 6), cut('🚿🚿🚿', 5), cut('🚿🚿🚿', 4), cut('', 3)],
    ['Grüße', 'Grü…', '🚿🚿🚿', '🚿🚿…', '🚿…', ''],
  )
  assert.ok(String(cut('x'.repeat(5000), 3800)).length === 3800)
})

test('a bucket lets a minute’s worth go at once, and then one after the other', () => {
  // State is a table that the module changes, so one Lua program plays the whole story.
  const story = `
    local rate = require("rate")
    local story = {}
    function story.tell()
      local bucket = rate.new(3, 100)
      local answers = {}
      for _, now in ipairs({ 100, 100, 100, 100, 110, 120, 120, 1000, 1000, 1000, 1000 }) do
        local allowed, wait = rate.take(bucket, now)
        answers[#answers + 1] = allowed and "now" or tostring(wait)
      end
      return answers
    end
    return story`
  const modules = openLuaModules(folder, { story: Buffer.from(story) })
  const full = ['now', 'now', 'now', '20']
  assert.deepEqual(modules.call('story', 'tell')[0], [...full, '10', 'now', '20', ...full])
})

/** An outbox in which the test is the time and the server. */
const outboxStage = `
  local outbox = require("outbox")
  local stage = { told = {}, timers = {}, now = 0 }
  local box, finishers = nil, {}
  function stage.open(perMinute)
    box = outbox.new({
      perMinute = perMinute,
      now = function() return stage.now end,
      after = function(seconds, run)
        table.insert(stage.told, "wait " .. seconds)
        table.insert(stage.timers, { at = stage.now + seconds, run = run })
      end,
      send = function(message, finish)
        table.insert(stage.told, "send " .. message)
        table.insert(finishers, finish)
      end,
    })
  end
  function stage.add(message)
    return box.add(message, function(ok, reason)
      table.insert(stage.told, (ok and "sent " or "failed ") .. message .. (reason and ": " .. reason or ""))
    end)
  end
  function stage.answer(outcome, wait, reason) table.remove(finishers, 1)(outcome, wait, reason) end
  function stage.elapse()
    local timer = table.remove(stage.timers, 1)
    stage.now = timer.at
    timer.run()
  end
  function stage.read() return stage.told end
  return stage`

function openOutbox(perMinute: number) {
  const modules = openLuaModules(folder, { stage: Buffer.from(outboxStage) })
  modules.call('stage', 'open', perMinute)
  return {
    add: (message: string) => modules.call('stage', 'add', message)[0],
    answer: (...outcome: (Json | undefined)[]) => void modules.call('stage', 'answer', ...outcome),
    elapse: () => void modules.call('stage', 'elapse'),
    told: () => modules.call('stage', 'read')[0],
  }
}

test('one message is sent at a time, in order', () => {
  const box = openOutbox(60)
  for (const message of ['a', 'b']) box.add(message)
  assert.deepEqual(box.told(), ['send a'])
  box.answer('sent')
  box.answer('refused', undefined, 'HTTP 401')
  assert.deepEqual(box.told(), ['send a', 'sent a', 'send b', 'failed b: HTTP 401'])
})

test('a message that may pass is tried four times, with longer and longer pauses', () => {
  const box = openOutbox(60)
  box.add('a')
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    box.answer('again', undefined, 'HTTP 503')
    box.elapse()
  }
  box.answer('again', undefined, 'HTTP 503')
  assert.deepEqual(box.told(), [
    'send a',
    'wait 2',
    'send a',
    'wait 4',
    'send a',
    'wait 8',
    'send a',
    'failed a: HTTP 503',
  ])
})

test('a server that asks for a pause gets it, within reason', () => {
  const box = openOutbox(60)
  box.add('a')
  box.answer('again', 30, 'HTTP 429')
  box.elapse()
  box.answer('again', 86_400, 'HTTP 429')
  assert.deepEqual(box.told(), ['send a', 'wait 30', 'send a', 'wait 300'])
})

test('what is more than the rate allows waits for its turn', () => {
  const box = openOutbox(1)
  box.add('a')
  box.answer('sent')
  box.add('b')
  assert.deepEqual(box.told(), ['send a', 'sent a', 'wait 60'])
  box.elapse()
  assert.deepEqual(box.told(), ['send a', 'sent a', 'wait 60', 'send b'])
})

test('no more than a hundred messages wait', () => {
  const box = openOutbox(60)
  const accepted = Array.from({ length: 101 }, (_, index) => box.add(`m${index}`))
  assert.deepEqual([accepted.filter((each) => each === true).length, accepted[100]], [100, false])
})
