import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { minVersion, subset } from 'semver'

const root = join(import.meta.dirname, '..')

test('docs/dependencies.md explains each dependency of package.json, and no other', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  ) as Record<string, object>
  const rows = readFileSync(join(root, 'docs', 'dependencies.md'), 'utf8').matchAll(/^\| (`.*?) \|/gm)
  const explained = [...rows].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  )
  assert.deepEqual(
    explained.sort(),
    Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }).sort(),
  )
})

test('every package that is installed runs on each Node that the program runs on, so npm ci warns of none', () => {
  interface Package {
    engines?: { node?: string }
  }
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Package>
  }
  const oldest = minVersion(packages['']?.engines?.node ?? '*')?.version ?? ''
  const refused = Object.entries(packages).filter(
    ([, { engines }]) => engines?.node !== undefined && !subset(oldest, engines.node),
  )
  assert.deepEqual(
    refused.map(([path]) => path),
    [],
  )
})
