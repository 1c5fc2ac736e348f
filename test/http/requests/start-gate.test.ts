import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../../../src/base/problem.ts'
import { createStartGate } from '../../../src/http/requests/start-gate.ts'

test('while a start takes its time questions are let in and commands refused, those that wait and those that come', async () => {
  const gate = createStartGate()
  const refusal = new Problem('storage_full', 'Make room.')
  const question = gate.pass('GET')
  const command = assert.rejects(gate.pass('POST'), refusal)
  gate.openForQuestions(refusal)
  await Promise.all([question, command, gate.pass('HEAD')])
  for (const method of ['POST', 'PUT', 'DELETE']) await assert.rejects(gate.pass(method), refusal)
  gate.open()
  await gate.pass('POST')
})

test('a host that does not start after all refuses questions, too', async () => {
  const gate = createStartGate()
  gate.openForQuestions(new Problem('storage_full', 'Make room.'))
  const end = new Problem('shutting_down', 'It ends.')
  gate.close(end)
  for (const method of ['GET', 'POST']) await assert.rejects(gate.pass(method), end)
})
